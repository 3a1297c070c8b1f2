#!/usr/bin/env python3
"""The OpenTelemetry Collector gets what we send: collector_test.py SENDER

Builds the Collector (main.go, go.mod and go.sum beside this file; a cache outside the repository), runs SENDER against it
over gRPC, HTTP/protobuf and HTTP/JSON, with and without gzip, and compares what the Collector wrote to its files with what
our own OTLP/JSON file sink wrote in the same run, field by field. Then stops the Collector amid a run and starts it again:
what is missing must be exactly what the sender counted as dropped.

Exit code 77: skipped, because Go isn't there or a module can't be fetched.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "telltale" / "collector"


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def build():
    """The Collector's program, built once for each go.sum."""
    if shutil.which("go") is None:
        skip("no Go compiler here (any Go from 1.26 on), so there is no OpenTelemetry Collector to talk to")
    program = cache / "collector"
    stamp = cache / "go.sum"
    if program.exists() and stamp.exists() and stamp.read_bytes() == (here / "go.sum").read_bytes():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    for name in ("main.go", "go.mod", "go.sum"):
        shutil.copy(here / name, cache / name)
    built = subprocess.run(["go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", program, "."],
                           cwd=cache, capture_output=True, text=True)
    if built.returncode != 0:
        skip("the OpenTelemetry Collector could not be built: " + built.stderr.strip().splitlines()[-1])
    return program


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Collector:
    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.grpc = free_port()
        self.http = free_port()
        files = {s: {"path": str(self.folder / f"{s}.jsonl"), "append": True} for s in ("traces", "logs", "metrics")}
        config = {
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{self.grpc}"},
                                                 "http": {"endpoint": f"127.0.0.1:{self.http}"}}}},
            "exporters": {f"file/{s}": files[s] for s in files},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {s: {"receivers": ["otlp"], "exporters": [f"file/{s}"]} for s in files},
            },
        }
        self.config = self.folder / "config.yaml"
        self.config.write_text(json.dumps(config))  # JSON is YAML
        self.process = None

    def start(self):
        self.log = open(self.folder / "collector.log", "ab")
        self.process = subprocess.Popen([self.program, "--config", f"file:{self.config}"], stdout=self.log,
                                        stderr=self.log)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.http), timeout=1).close()
                socket.create_connection(("127.0.0.1", self.grpc), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        sys.exit("the Collector does not start:\n" + (self.folder / "collector.log").read_text()[-2000:])

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
            self.process = None


def canonical(value):
    """Lists of attributes by key; a field that says what its absence says is left out."""
    if isinstance(value, list):
        if value and all(isinstance(v, dict) and set(v) <= {"key", "value"} for v in value):
            keys = [v["key"] for v in value]
            assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
            return {v["key"]: canonical(v.get("value", {})) for v in value}
        return [canonical(v) for v in value]
    if isinstance(value, dict):
        out = {k: canonical(v) for k, v in value.items()}
        return {k: v for k, v in out.items() if v not in ("", [], {}) or k in ("stringValue",)}
    return value


def records(path, outer, scopes, inner):
    """Every record with its resource and scope, in order of the record."""
    found = []
    if not path.exists():
        return found
    for line in path.read_text().splitlines():
        for resource in json.loads(line).get(outer, []):
            for scope in resource[scopes]:
                for record in scope[inner]:
                    found.append(json.dumps(canonical({"resource": resource["resource"], "scope": scope["scope"],
                                                       "record": record}), sort_keys=True))
    return sorted(found)


def spans(path):
    return records(path, "resourceSpans", "scopeSpans", "spans")


def lines(path):
    return records(path, "resourceLogs", "scopeLogs", "logRecords")


def send(sender, endpoint, options, expected, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "TELLTALE_"))}
    environment.update(TELLTALE_SINKS=f"otlp:{endpoint}?{options}; otlp_file:{expected}", OTEL_SERVICE_NAME="sender",
                       OTEL_METRICS_EXPORTER="otlp", TELLTALE_OVERFLOW="block")
    return subprocess.Popen([sender, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True)


def difference(ours, theirs):
    missing = collections.Counter(ours) - collections.Counter(theirs)
    extra = collections.Counter(theirs) - collections.Counter(ours)
    one = lambda c: next(iter(c), "none")
    return f"{sum(missing.values())} missing, {sum(extra.values())} extra\nmissing: {one(missing)}\nextra:   {one(extra)}"


def main():
    sender = os.path.abspath(sys.argv[1])
    program = build()
    failed = 0
    for protocol in ("grpc", "http/protobuf", "http/json"):
        for compression in ("none", "gzip"):
            with tempfile.TemporaryDirectory() as folder:
                collector = Collector(program, folder)
                collector.start()
                port = collector.grpc if protocol == "grpc" else collector.http
                expected = pathlib.Path(folder) / "expected.jsonl"
                p = send(sender, f"http://127.0.0.1:{port}", f"protocol={protocol},compression={compression}",
                         expected, 200)
                out = p.communicate(timeout=120)[0]
                collector.stop()
                ok = p.returncode == 0 and out == "flushed 1 dropped 0\n"
                for what, read, name in (("spans", spans, "traces"), ("lines", lines, "logs")):
                    ours = read(expected)
                    theirs = read(pathlib.Path(folder) / f"{name}.jsonl")
                    if ours != theirs or len(ours) < 200:
                        ok = False
                        print(f"{protocol} {compression} {what}: {difference(ours, theirs)}")
                if '"peers.jobs"' not in (pathlib.Path(folder) / "metrics.jsonl").read_text():
                    ok = False
                    print(f"{protocol} {compression}: no metrics came")
                print(f"{'ok    ' if ok else 'FAILED'} {protocol} {compression} ({out.strip()})")
                failed += not ok

    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(program, folder)
        collector.start()
        expected = pathlib.Path(folder) / "expected.jsonl"
        p = send(sender, f"http://127.0.0.1:{collector.grpc}", "protocol=grpc,delay=50ms", expected, 400, 6)
        time.sleep(1.5)
        collector.stop()
        time.sleep(1.5)
        collector.start()
        out = p.communicate(timeout=120)[0]
        collector.stop()
        ours = collections.Counter(spans(expected))
        theirs = collections.Counter(spans(pathlib.Path(folder) / "traces.jsonl"))
        lost = sum((ours - theirs).values())
        dropped = int(out.split()[-1])
        ok = p.returncode == 0 and not (set(theirs) - set(ours)) and lost == 0 and dropped == 0 and sum(ours.values()) == 800
        print(f"{'ok    ' if ok else 'FAILED'} stopped and started again: {sum(ours.values())} spans, {lost} missing, "
              f"{out.strip()}, {sum((theirs - ours).values())} sent twice")
        failed += not ok
    sys.exit(1 if failed else 0)


main()
