// An OTLP receiver over gRPC's own library that answers every call as it is told to: grpc PORT ANSWER. Prints a line
// for each span that it took.
//
//	busy       UNAVAILABLE twice, then taken
//	wait       RESOURCE_EXHAUSTED with a RetryInfo of 1.2 seconds, once, then taken
//	exhausted  RESOURCE_EXHAUSTED without one
//	forbidden  PERMISSION_DENIED
//	partly     taken but for two, "too old"
//	hang       no answer to the first call, then taken
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

type receiver struct {
	ptraceotlp.UnimplementedGRPCServer
	answer string
	calls  atomic.Int32
}

func (r *receiver) Export(ctx context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	call := r.calls.Add(1)
	response := ptraceotlp.NewExportResponse()
	switch {
	case r.answer == "busy" && call <= 2:
		return response, status.Error(codes.Unavailable, "starting \x1b[31m…")
	case r.answer == "wait" && call == 1:
		s, err := status.New(codes.ResourceExhausted, "slowly").WithDetails(
			&errdetails.RetryInfo{RetryDelay: durationpb.New(1200 * time.Millisecond)})
		if err != nil {
			log.Fatal(err)
		}
		return response, s.Err()
	case r.answer == "exhausted":
		return response, status.Error(codes.ResourceExhausted, fmt.Sprint("quota, call ", call))
	case r.answer == "forbidden":
		return response, status.Error(codes.PermissionDenied, fmt.Sprint("no, call ", call))
	case r.answer == "partly":
		response.PartialSuccess().SetRejectedSpans(2)
		response.PartialSuccess().SetErrorMessage("too old")
	case r.answer == "hang" && call == 1:
		<-ctx.Done()
		return response, ctx.Err()
	}
	spans := request.Traces()
	for i := range spans.ResourceSpans().Len() {
		scopes := spans.ResourceSpans().At(i).ScopeSpans()
		for j := range scopes.Len() {
			for k := range scopes.At(j).Spans().Len() {
				fmt.Println(scopes.At(j).Spans().At(k).SpanID())
			}
		}
	}
	return response, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, &receiver{answer: os.Args[2]})
	log.Fatal(server.Serve(listener))
}
