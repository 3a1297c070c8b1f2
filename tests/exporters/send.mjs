// Sends with OpenTelemetry's own exporters for Node, and prints as JSON what it sent: send.mjs HTTP-URL GRPC-URL
// Each way of sending has a trace of its own: a failed parent with attributes of every kind, an event and a link, and a
// child on the same connection.
import { SpanKind, SpanStatusCode, trace, context } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { LoggerProvider, BatchLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { OTLPTraceExporter as TraceJson } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as TraceProto } from '@opentelemetry/exporter-trace-otlp-proto';
import { OTLPTraceExporter as TraceGrpc } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPLogExporter as LogJson } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as LogProto } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as MetricJson } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as MetricProto } from '@opentelemetry/exporter-metrics-otlp-proto';

const [http, grpc] = process.argv.slice(2);
const resource = resourceFromAttributes({ 'service.name': 'node-peer', 'host.name': 'n1' });
const http_options = (signal, compression) => ({ url: `${http}/v1/${signal}`, compression, keepAlive: true });
const ways = {
  json: new TraceJson(http_options('traces', 'none')),
  json_gzip: new TraceJson(http_options('traces', 'gzip')),
  proto: new TraceProto(http_options('traces', 'none')),
  proto_gzip: new TraceProto(http_options('traces', 'gzip')),
  grpc: new TraceGrpc({ url: grpc, compression: 'none' }),
  grpc_gzip: new TraceGrpc({ url: grpc, compression: 'gzip' }),
};
const sent = {};
for (const [way, exporter] of Object.entries(ways)) {
  const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
  const tracer = provider.getTracer('peer', '1.2');
  const other = tracer.startSpan('other', { root: true });
  other.end();
  const parent = tracer.startSpan('parent', {
    root: true,
    kind: SpanKind.SERVER,
    startTime: [1778273112, 5],
    links: [{ context: other.spanContext(), attributes: { why: 'related' } }],
    attributes: { job_id: way, text: 'ä"\\', number: 42, ratio: 0.5, flag: true, list: ['a', 'b'] },
  });
  const child = tracer.startSpan('child', { startTime: [1778273112, 1000] }, trace.setSpan(context.active(), parent));
  child.end([1778273112, 2000]);
  parent.addEvent('retried', { attempt: 2 }, [1778273112, 1500]);
  parent.setStatus({ code: SpanStatusCode.ERROR, message: 'broken' });
  parent.end([1778273112, 1000005]);
  await provider.forceFlush();
  await provider.shutdown();
  sent[way] = {
    trace_id: parent.spanContext().traceId,
    parent: parent.spanContext().spanId,
    child: child.spanContext().spanId,
    link: { trace_id: other.spanContext().traceId, span_id: other.spanContext().spanId },
  };
}
for (const [way, exporter] of Object.entries({
  json: new LogJson(http_options('logs', 'gzip')),
  proto: new LogProto(http_options('logs', 'none')),
})) {
  const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] });
  provider.getLogger('peer').emit({
    severityNumber: SeverityNumber.WARN,
    severityText: 'WARN',
    body: `line over ${way}`,
    timestamp: [1778273112, 7],
    attributes: { job_id: `log_${way}`, n: 3 },
  });
  await provider.forceFlush();
  await provider.shutdown();
}
for (const [way, exporter] of Object.entries({
  json: new MetricJson(http_options('metrics', 'gzip')),
  proto: new MetricProto(http_options('metrics', 'none')),
})) {
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const meter = provider.getMeter('peer');
  meter.createCounter(`jobs_${way}`, { unit: '{job}' }).add(7, { kind: 'a' });
  meter.createHistogram(`took_${way}`, { unit: 's' }).record(0.3);
  await provider.shutdown(); // sends, once
}
console.log(JSON.stringify({ service: 'node-peer', spans: sent, logs: ['json', 'proto'], metrics: ['json', 'proto'] }));
