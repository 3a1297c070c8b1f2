#!/usr/bin/env python3
"""The OpenTelemetry Collector gets what we send: collector_test.py SENDER

Builds the Collector (collector/; a cache outside the repository), runs SENDER against it over gRPC, HTTP/protobuf and
HTTP/JSON, with and without gzip, gRPC also over TLS, and compares what the Collector wrote to its files with what our own
OTLP/JSON file sink wrote in the same run, field by field. Then stops the Collector amid a run and starts it again: what is
missing must be exactly what the sender counted as dropped, and a span that is open all that time is told of.

Exit code 77: skipped, because Go isn't there or a module can't be fetched.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import peer


class Collector:
    def __init__(self, program, folder, certificate=None):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.grpc, self.http = peer.free_ports(2)
        files = {s: {"path": str(self.folder / f"{s}.jsonl"), "append": True} for s in ("traces", "logs", "metrics")}
        tls = {"tls": {"cert_file": str(certificate[0]), "key_file": str(certificate[1])}} if certificate else {}
        config = {
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{self.grpc}", **tls},
                                                 "http": {"endpoint": f"127.0.0.1:{self.http}", **tls}}}},
            "exporters": {f"file/{s}": files[s] for s in files},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {s: {"receivers": ["otlp"], "exporters": [f"file/{s}"]} for s in files},
            },
        }
        self.config = self.folder / "config.yaml"
        self.config.write_text(json.dumps(config))  # JSON is YAML
        self.start()

    def start(self):
        self.running = peer.Program("the Collector", [self.program, "--config", f"file:{self.config}"],
                                    self.folder / "collector.log", (self.http, self.grpc))

    def stop(self):
        self.running.stop()


def certificate(folder):
    key, pem = pathlib.Path(folder) / "server.key", pathlib.Path(folder) / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "1", "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                    "-out", pem], check=True, capture_output=True)
    return pem, key


def main():
    sender = os.path.abspath(sys.argv[1])
    program = peer.build("collector", "OpenTelemetry Collector", pathlib.Path(__file__).resolve().parent / "collector")
    failed = 0
    ways = [(p, c, False) for p in ("grpc", "http/protobuf", "http/json") for c in ("none", "gzip")]
    for protocol, compression, encrypted in ways + [("grpc", "gzip", True), ("http/protobuf", "none", True)]:
        with tempfile.TemporaryDirectory() as folder:
            pem = certificate(folder) if encrypted else None
            collector = Collector(program, folder, pem)
            port = collector.grpc if protocol == "grpc" else collector.http
            url = f"{'https' if encrypted else 'http'}://127.0.0.1:{port}"
            expected = pathlib.Path(folder) / "expected.jsonl"
            trusted = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(pem[0])} if encrypted else {}
            p = peer.send(sender, f"otlp:{url}?protocol={protocol},compression={compression}; otlp_file:{expected}", 200,
                          **trusted)
            out = p.communicate(timeout=120)[0]
            collector.stop()
            what = f"{protocol} {compression}{' over TLS' if encrypted else ''}"
            ok = p.returncode == 0 and out == "flushed 1 dropped 0\n"
            for kind, read, name in (("spans", peer.spans, "traces"), ("lines", peer.lines, "logs")):
                ours = read(expected)
                theirs = read(pathlib.Path(folder) / f"{name}.jsonl")
                if ours != theirs or len(ours) < 200:
                    ok = False
                    print(f"{what} {kind}: {peer.difference(ours, theirs)}")
            if '"peers.jobs"' not in (pathlib.Path(folder) / "metrics.jsonl").read_text():
                ok = False
                print(f"{what}: no metrics came")
            print(f"{'ok    ' if ok else 'FAILED'} {what} ({out.strip()})")
            failed += not ok

    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(program, folder)
        expected = pathlib.Path(folder) / "expected.jsonl"
        p = peer.send(sender, f"otlp:http://127.0.0.1:{collector.grpc}?protocol=grpc,delay=50ms; otlp_file:{expected}",
                      400, 12)
        time.sleep(1.5)
        collector.stop()
        time.sleep(1.5)
        collector.start()
        out = p.communicate(timeout=120)[0]
        collector.stop()
        ours = collections.Counter(peer.spans(expected))
        theirs = collections.Counter(peer.spans(pathlib.Path(folder) / "traces.jsonl"))
        lost = sum((ours - theirs).values())
        dropped = int(out.split()[-1])
        signs = [line["record"]["eventName"] for line in map(json.loads, peer.lines(pathlib.Path(folder) / "logs.jsonl"))
                 if line["record"].get("attributes", {}).get("telltale.span.name") == {"stringValue": "whole"}]
        ok = (p.returncode == 0 and not (set(theirs) - set(ours)) and lost == 0 and dropped == 0
              and sum(ours.values()) == 801 and sorted(set(signs)) == ["telltale.span.heartbeat", "telltale.span.open"])
        print(f"{'ok    ' if ok else 'FAILED'} stopped and started again: {sum(ours.values())} spans, {lost} missing, "
              f"{out.strip()}, {sum((theirs - ours).values())} sent twice, {signs}")
        failed += not ok
    sys.exit(1 if failed else 0)


main()
