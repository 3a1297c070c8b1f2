#!/usr/bin/env python3
"""The hub sends on what it gets to the real Collector and Jaeger: check.py TELLTALE SENDER

TELLTALE is the built command, SENDER core's program that records a known load. What the Collector writes to its files is
compared with what SENDER wrote to a file of its own in the same run, field by field; then the Collector is stopped amid a
run and started again, and nothing may be missing; then more waits for it than may wait, and what is missing must be exactly
what the hub counts as lost. What Jaeger answers is compared with what the hub answers to the same questions of Jaeger's API.

Exit code 77: skipped, because Go isn't there or a module can't be fetched.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "core/otlp/tests/peers"
sys.path.insert(0, str(PEERS))
import peer  # noqa: E402


class Hub:
    def __init__(self, telltale, folder, to, more=""):
        config = pathlib.Path(folder) / "hub.toml"
        config.write_text(f'[store]\ndirectory = "{folder}/store"\n[http]\nlisten = ["127.0.0.1:0"]\n'
                          f'[grpc]\nlisten = ["127.0.0.1:0"]\n[forward]\nurl = "http://127.0.0.1:{to}"\n{more}')
        self.process = subprocess.Popen([telltale, "serve", "--config", config], stdout=subprocess.PIPE, text=True)
        ports = re.search(r"http:(\d+) grpc:(\d+)", self.process.stdout.readline())
        self.http, self.grpc = ports.groups()

    def figure(self, name):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=30).read().decode()
        return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M).group(1))

    def sent(self):
        return self.figure("telltale_hub_forwarded_requests_total")

    def lost(self):
        return self.figure("telltale_hub_forward_lost_requests_total")

    def requests(self):
        """All that came, of any signal."""
        return sum(self.figure(f'telltale_hub_requests_total{{signal="{s}"}}') for s in ("traces", "logs", "metrics"))

    def post(self, signal, request):
        q = urllib.request.Request(f"http://127.0.0.1:{self.http}/v1/{signal}", json.dumps(request).encode(),
                                   {"Content-Type": "application/json"})
        urllib.request.urlopen(q, timeout=30).read()

    def wait_until_sent(self):
        wait(lambda: self.sent() + self.lost() == self.requests(), "the hub sends on what waits")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


class Collector:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.http, = peer.free_ports(1)
        files = {s: {"path": str(self.folder / f"{s}.jsonl"), "append": True} for s in ("traces", "logs", "metrics")}
        self.config = self.folder / "config.yaml"
        self.config.write_text(json.dumps({  # JSON is YAML
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{self.http}"}}}},
            "exporters": {f"file/{s}": files[s] for s in files},
            "service": {"telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {s: {"receivers": ["otlp"], "exporters": [f"file/{s}"]} for s in files}}}))

    def start(self):
        self.running = peer.Program("the Collector", [self.program, "--config", f"file:{self.config}"],
                                    self.folder / "collector.log", (self.http,))

    def stop(self):
        self.running.stop()

    def spans(self):
        """After stop(): before, the file may end amid a line."""
        return peer.spans(self.folder / "traces.jsonl")

    def lines(self):
        return peer.lines(self.folder / "logs.jsonl")


def wait(until, what):
    for _ in range(600):
        if until():
            return
        time.sleep(0.1)
    sys.exit(f"FAILED {what}: not within a minute")


def tell(ok, what):
    print(f"{'ok    ' if ok else 'FAILED'} {what}", flush=True)
    return 0 if ok else 1


def as_it_was_sent(telltale, sender, program):
    """Spans, log lines and metrics, over each protocol to the hub."""
    failed = 0
    for protocol in ("grpc", "http/protobuf", "http/json"):
        with tempfile.TemporaryDirectory() as folder:
            collector = Collector(program, folder)
            collector.start()
            hub = Hub(telltale, folder, collector.http)
            port = hub.grpc if protocol == "grpc" else hub.http
            expected = pathlib.Path(folder) / "expected.jsonl"
            p = peer.send(sender, f"otlp:http://127.0.0.1:{port}?protocol={protocol}; otlp_file:{expected}", 200)
            out = p.communicate(timeout=120)[0]
            hub.stop()  # delivers what waits
            collector.stop()
            ours, theirs = peer.spans(expected), collector.spans()
            lines = peer.lines(expected), collector.lines()
            ok = (out == "flushed 1 dropped 0\n" and ours == theirs and len(ours) == 400 and lines[0] == lines[1]
                  and '"peers.jobs"' in (collector.folder / "metrics.jsonl").read_text())
            if not ok:
                print(peer.difference(ours, theirs), peer.difference(*lines), sep="\n")
            failed += tell(ok, f"the Collector has what came over {protocol}: {len(theirs)} spans, "
                               f"{len(lines[1])} lines, metrics")
    return failed


def down_and_back(telltale, sender, program):
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(program, folder)
        collector.start()
        hub = Hub(telltale, folder, collector.http)
        expected = pathlib.Path(folder) / "expected.jsonl"
        p = peer.send(sender, f"otlp:http://127.0.0.1:{hub.grpc}?protocol=grpc,delay=50ms; otlp_file:{expected}", 400, 6)
        time.sleep(1.5)
        collector.stop()
        time.sleep(2)
        collector.start()
        out = p.communicate(timeout=120)[0]
        wanted = peer.spans(expected)
        hub.wait_until_sent()
        lost = hub.lost()
        hub.stop()
        collector.stop()
        ours, theirs = collections.Counter(wanted), collections.Counter(collector.spans())
        ok = out == "flushed 1 dropped 0\n" and not ours - theirs and not set(theirs) - set(ours) and lost == 0
        return tell(ok, f"the Collector stopped and started again: {len(wanted)} spans, "
                        f"{sum((ours - theirs).values())} missing, {sum((theirs - ours).values())} sent twice")


def lost_are_counted(telltale, program):
    """The Collector isn't there, and less may wait than comes."""
    requests = 300
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(program, folder)
        hub = Hub(telltale, folder, collector.http, 'max_queue = "64KiB"\n')
        for i in range(1, requests + 1):
            span = {"traceId": f"{i:032x}", "spanId": f"{i:016x}", "name": "x" * 1000, "startTimeUnixNano": "1",
                    "endTimeUnixNano": "2"}
            hub.post("traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
        lost = hub.lost()
        collector.start()
        hub.wait_until_sent()
        sent, lost_at_last = hub.sent(), hub.lost()
        hub.stop()
        collector.stop()
        there = len(set(collector.spans()))
        ok = 0 < lost == lost_at_last and there == sent == requests - lost and there >= 50
        return tell(ok, f"{requests} requests while the Collector was away, 64 KiB may wait: {there} came later, "
                        f"{lost} counted as lost")


def jaeger_form(traces):
    """By span, without what says nothing: the order of tags, the numbers of processes."""
    out = {}
    for trace in traces:
        for s in trace["spans"]:
            process = trace["processes"][s["processID"]]
            # JSON has one kind of number: 14 and 14.0 are the same.
            text = lambda t: json.dumps(float(t["value"]) if t["type"] == "float64" else t["value"])
            tags = lambda list_of: sorted((t["key"], t["type"], text(t)) for t in list_of)
            out[trace["traceID"], s["spanID"]] = {
                "name": s["operationName"], "start": s["startTime"], "duration": s["duration"], "tags": tags(s["tags"]),
                "service": process["serviceName"], "process": tags(process["tags"]), "warnings": s["warnings"],
                "logs": [(l["timestamp"], tags(l["fields"])) for l in s["logs"]],
                # Jaeger tells a link to the parent as the parent's only reference; we tell both.
                "references": sorted({(r["traceID"], r["spanID"]) for r in s["references"]})}
    return out


def jaeger_answers_alike(telltale, sender):
    program = peer.build("jaeger", "Jaeger", PEERS / "jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one")
    with tempfile.TemporaryDirectory() as folder:
        ports = peer.free_ports(7)
        names = ("collector.otlp.http", "query.http-server", "collector.otlp.grpc", "query.grpc-server",
                 "collector.grpc-server", "collector.http-server", "admin.http")
        words = [f"--{name}.host-port=127.0.0.1:{port}" for name, port in zip(names, ports)]
        jaeger = peer.Program("Jaeger", [program, *words], pathlib.Path(folder) / "jaeger.log", ports[:2],
                              {"SPAN_STORAGE_TYPE": "memory", "OTEL_TRACES_SAMPLER": "always_off"})
        hub = Hub(telltale, folder, ports[0])
        p = peer.send(sender, f"otlp:http://127.0.0.1:{hub.grpc}?protocol=grpc", 100, OTEL_LOGS_EXPORTER="none",
                      OTEL_METRICS_EXPORTER="none")
        p.communicate(timeout=120)

        def both(path):
            answers = []
            for port in (ports[1], hub.http):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
                        answers.append((answer.status, json.load(answer)))
                except urllib.error.HTTPError as e:
                    answers.append((e.code, json.load(e)))
            return answers

        def spans(path):
            return [jaeger_form(a["data"]) for _, a in both(path)]

        everything = "/api/traces?service=sender&limit=1000"
        wait(lambda: [len(s) for s in spans(everything)] == [200, 200], "both have 200 spans")
        failed = 0
        for path in ("/api/services", "/api/services/sender/operations", "/api/operations?service=sender",
                     "/api/operations?service=sender&spanKind=client", "/api/services/nobody/operations"):
            (_, theirs), (_, ours) = both(path)
            key = lambda x: json.dumps(x, sort_keys=True)
            for a in (theirs, ours):
                a["data"] = sorted(a["data"] or [], key=key)  # Jaeger says null for none
            failed += tell(theirs == ours, f"as Jaeger: {path}")
            if theirs != ours:
                print(theirs, ours, sep="\n")
        tags = lambda **t: urllib.parse.quote(json.dumps({k.replace("__", "."): v for k, v in t.items()}))
        theirs, _ = spans(everything)
        one = next(iter(theirs))[0]
        for more in ("", "&operation=msm", "&operation=nothing", f"&tags={tags(points='7')}", f"&tags={tags(on='true')}",
                     f"&tags={tags(share='0.25')}", f"&tags={tags(error='true')}", f"&tags={tags(span__kind='client')}",
                     f"&tags={tags(error='true', points='14')}", "&tag=job_id:3", "&minDuration=1h", "&maxDuration=1h",
                     f"&end={1000000}"):
            theirs, ours = spans(everything + more)
            failed += tell(theirs == ours, f"as Jaeger: search {urllib.parse.unquote(more)} ({len(ours)} spans)")
            if theirs != ours:
                print(next((a, theirs.get(a), ours.get(a)) for a in {**theirs, **ours} if theirs.get(a) != ours.get(a)))
        for path, status in ((f"/api/traces/{one}", 200), ("/api/traces/abc", 404), ("/api/traces/xyz", 400),
                             ("/api/traces", 400), ("/api/traces?service=sender&minDuration=x", 400),
                             ("/api/traces?service=sender&tag=x", 400), ("/api/operations", 400)):
            answers = both(path)
            ok = [s for s, _ in answers] == [status, status]
            if status != 200:
                ok = ok and all(a["data"] is None and a["errors"][0]["code"] == status for _, a in answers)
            else:
                theirs, ours = (jaeger_form(a["data"]) for _, a in answers)
                ok = ok and theirs == ours and len(ours) > 0
            failed += tell(ok, f"as Jaeger: {path} {status}")
            if not ok:
                print(answers)
        hub.stop()
        jaeger.stop()
        return failed


def main():
    telltale, sender = map(os.path.abspath, sys.argv[1:3])
    program = peer.build("collector", "OpenTelemetry Collector", PEERS / "collector")
    failed = as_it_was_sent(telltale, sender, program)
    failed += down_and_back(telltale, sender, program)
    failed += lost_are_counted(telltale, program)
    failed += jaeger_answers_alike(telltale, sender)
    sys.exit(1 if failed else 0)


main()
