#!/usr/bin/env python3
"""Jaeger gets what we send: jaeger_test.py SENDER

Builds Jaeger (jaeger/; a cache outside the repository), runs SENDER against it over gRPC and HTTP/protobuf, asks its query
API for every trace, and compares the answers with what our own OTLP/JSON file sink wrote in the same run, field by field.
Jaeger's own model has no place for two of them: a span's flags, and attributes of a link, for which it has a kind of its
own.

Exit code 77: skipped, because Go isn't there or a module can't be fetched.
"""

import json
import os
import pathlib
import sys
import tempfile
import time
import urllib.error
import urllib.request

import peer


class Jaeger:
    def __init__(self, program, folder):
        self.grpc, self.http, self.query, *others = peer.free_ports(9)
        others = iter(others)
        where = lambda port: f"127.0.0.1:{port}"
        words = {
            "collector.otlp.grpc.host-port": self.grpc,
            "collector.otlp.http.host-port": self.http,
            "query.http-server.host-port": self.query,
            "query.grpc-server.host-port": next(others),
            "collector.grpc-server.host-port": next(others),
            "collector.http-server.host-port": next(others),
            "admin.http.host-port": next(others),
        }
        self.running = peer.Program("Jaeger", [program, *(f"--{k}={where(v)}" for k, v in words.items())],
                                    pathlib.Path(folder) / "jaeger.log", (self.grpc, self.http, self.query),
                                    {"SPAN_STORAGE_TYPE": "memory", "OTEL_TRACES_SAMPLER": "always_off"})

    def trace(self, trace_id):
        """As requests of OTLP, which is the form of its API's version 3."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.query}/api/v3/traces/{trace_id}", timeout=30) as answer:
                return [json.loads(line)["result"] for line in answer.read().splitlines()]
        except urllib.error.HTTPError as e:
            if e.code == 404:
                return []
            raise

    def stop(self):
        self.running.stop()


def spans_of(requests):
    return peer.records(requests, "resourceSpans", "scopeSpans", "spans")


def as_jaeger_keeps(span):
    del span["record"]["flags"]
    for link in span["record"].get("links", []):
        link["attributes"] = {"opentracing.ref_type": {"stringValue": "follows_from"}}
    return span


def main():
    sender = os.path.abspath(sys.argv[1])
    here = pathlib.Path(__file__).resolve().parent
    program = peer.build("jaeger", "Jaeger", here / "jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one")
    failed = 0
    for protocol, compression in (("grpc", "none"), ("grpc", "gzip"), ("http/protobuf", "gzip"),
                                  ("http/json", "none"), ("http/json", "gzip")):
        with tempfile.TemporaryDirectory() as folder:
            jaeger = Jaeger(program, folder)
            port = jaeger.grpc if protocol == "grpc" else jaeger.http
            file = pathlib.Path(folder) / "expected.jsonl"
            sinks = f"otlp:http://127.0.0.1:{port}?protocol={protocol},compression={compression}; otlp_file:{file}"
            p = peer.send(sender, sinks, 100, OTEL_LOGS_EXPORTER="none", OTEL_METRICS_EXPORTER="none")  # it takes spans
            out = p.communicate(timeout=120)[0]
            expected = [as_jaeger_keeps(s) for s in spans_of(peer.requests_in(file))]
            ids = sorted({s["record"]["traceId"] for s in expected})
            got = []
            for _ in range(50):  # it answers before it has stored
                got = [s for i in ids for s in spans_of(jaeger.trace(i))]
                if len(got) >= len(expected):
                    break
                time.sleep(0.1)
            jaeger.stop()
            ours, theirs = peer.as_texts(expected), peer.as_texts(got)
            ok = p.returncode == 0 and out == "flushed 1 dropped 0\n" and ours == theirs and len(ours) == 200
            if not ok:
                print(peer.difference(ours, theirs))
            print(f"{'ok    ' if ok else 'FAILED'} {protocol} {compression}: {len(theirs)} spans of {len(ids)} traces")
            failed += not ok
    sys.exit(1 if failed else 0)


main()
