// Sends with OpenTelemetry's own exporters for Go, and prints as JSON what it sent: send HTTP-URL GRPC-URL
// The same as send.mjs does with those for Node.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type link struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
}
type sent struct {
	TraceID string `json:"trace_id"`
	Parent  string `json:"parent"`
	Child   string `json:"child"`
	Link    link   `json:"link"`
}

var (
	ctx = context.Background()
	of  = resource.NewSchemaless(attribute.String("service.name", "go-peer"), attribute.String("host.name", "n1"))
)

func at(ns int64) time.Time { return time.Unix(1778273112, ns) }

func sendSpans(way string, exporter sdktrace.SpanExporter) sent {
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithBatcher(exporter))
	tracer := provider.Tracer("peer", trace.WithInstrumentationVersion("1.2"))
	_, other := tracer.Start(ctx, "other", trace.WithNewRoot())
	other.End()
	inner, parent := tracer.Start(ctx, "parent", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(at(5)),
		trace.WithLinks(trace.Link{SpanContext: other.SpanContext(),
			Attributes: []attribute.KeyValue{attribute.String("why", "related")}}),
		trace.WithAttributes(attribute.String("job_id", way), attribute.String("text", "ä\"\\"),
			attribute.Int("number", 42), attribute.Float64("ratio", 0.5), attribute.Bool("flag", true),
			attribute.StringSlice("list", []string{"a", "b"})))
	_, child := tracer.Start(inner, "child", trace.WithTimestamp(at(1000)))
	child.End(trace.WithTimestamp(at(2000)))
	parent.AddEvent("retried", trace.WithTimestamp(at(1500)), trace.WithAttributes(attribute.Int("attempt", 2)))
	parent.SetStatus(codes.Error, "broken")
	parent.End(trace.WithTimestamp(at(1000005)))
	check(provider.ForceFlush(ctx))
	check(provider.Shutdown(ctx))
	return sent{parent.SpanContext().TraceID().String(), parent.SpanContext().SpanID().String(),
		child.SpanContext().SpanID().String(),
		link{other.SpanContext().TraceID().String(), other.SpanContext().SpanID().String()}}
}

func sendLog(way string, exporter sdklog.Exporter) {
	provider := sdklog.NewLoggerProvider(sdklog.WithResource(of),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	var r otellog.Record
	r.SetTimestamp(at(7))
	r.SetSeverity(otellog.SeverityWarn)
	r.SetSeverityText("WARN")
	r.SetBody(attribute.StringValue("line over " + way))
	r.AddAttributes(attribute.String("job_id", "log_"+way), attribute.Int("n", 3))
	provider.Logger("peer").Emit(ctx, r)
	check(provider.ForceFlush(ctx))
	check(provider.Shutdown(ctx))
}

func sendMetrics(way string, exporter sdkmetric.Exporter) {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(of),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(time.Minute))))
	meter := provider.Meter("peer")
	must(meter.Int64Counter("jobs_"+way, metric.WithUnit("{job}"))).Add(ctx, 7,
		metric.WithAttributes(attribute.String("kind", "a")))
	must(meter.Float64Histogram("took_"+way, metric.WithUnit("s"))).Record(ctx, 0.3)
	check(provider.Shutdown(ctx)) // sends, once
}

func main() {
	http, grpc := os.Args[1], os.Args[2]
	spans := map[string]sdktrace.SpanExporter{
		"proto": must(otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(http+"/v1/traces"))),
		"proto_gzip": must(otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(http+"/v1/traces"),
			otlptracehttp.WithCompression(otlptracehttp.GzipCompression))),
		"grpc": must(otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(grpc))),
		"grpc_gzip": must(otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(grpc),
			otlptracegrpc.WithCompressor("gzip"))),
	}
	logs := map[string]sdklog.Exporter{
		"proto": must(otlploghttp.New(ctx, otlploghttp.WithEndpointURL(http+"/v1/logs"),
			otlploghttp.WithCompression(otlploghttp.GzipCompression))),
		"grpc": must(otlploggrpc.New(ctx, otlploggrpc.WithEndpointURL(grpc))),
	}
	metrics := map[string]sdkmetric.Exporter{
		"proto": must(otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(http+"/v1/metrics"),
			otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))),
		"grpc": must(otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(grpc))),
	}
	told := struct {
		Service string          `json:"service"`
		Spans   map[string]sent `json:"spans"`
		Logs    []string        `json:"logs"`
		Metrics []string        `json:"metrics"`
	}{Service: "go-peer", Spans: map[string]sent{}}
	for way, exporter := range spans {
		told.Spans[way] = sendSpans(way, exporter)
	}
	for way, exporter := range logs {
		sendLog(way, exporter)
		told.Logs = append(told.Logs, way)
	}
	for way, exporter := range metrics {
		sendMetrics(way, exporter)
		told.Metrics = append(told.Metrics, way)
	}
	check(json.NewEncoder(os.Stdout).Encode(told))
}
