#!/usr/bin/env python3
"""What gRPC's own library answers is understood: grpc_test.py SENDER

Builds a receiver over it (grpc/; a cache outside the repository) that is busy, wants to be left alone, refuses, takes a
part, or doesn't answer, and runs SENDER against it. Every span arrives or is counted as dropped, and one line says why.

Exit code 77: skipped, because Go isn't there or a module can't be fetched.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import peer

SPANS = 40  # the sender makes two for each job


def run(sender, program, answer, options=""):
    """What the sender printed, what it complained of, the spans that the receiver took, and how long that lasted."""
    with tempfile.TemporaryDirectory() as folder:
        (port,) = peer.free_ports(1)
        log = pathlib.Path(folder) / "receiver.log"
        receiver = peer.Program("the receiver", [program, port, answer], log, (port,))
        began = time.monotonic()
        p = peer.send(sender, f"otlp:http://127.0.0.1:{port}?protocol=grpc{options}", SPANS // 2, stderr=subprocess.PIPE,
                      OTEL_LOGS_EXPORTER="none", OTEL_METRICS_EXPORTER="none")
        out, err = p.communicate(timeout=120)
        took = time.monotonic() - began
        receiver.stop()
        return out.strip(), err, log.read_text().split(), took


def main():
    sender = os.path.abspath(sys.argv[1])
    program = peer.build("grpc", "receiver over gRPC's library", pathlib.Path(__file__).resolve().parent / "grpc")
    everything = lambda out, spans: out == "flushed 1 dropped 0" and len(set(spans)) == len(spans) == SPANS
    nothing = lambda out, spans: out == f"flushed 1 dropped {SPANS}" and not spans
    once = lambda err, what: err.count("\n") == 1 and what in err and "\x1b" not in err
    expected = {
        "busy": lambda out, err, spans, _: everything(out, spans) and once(err, "gRPC status 14 (starting"),
        "wait": lambda out, err, spans, took: everything(out, spans) and once(err, "gRPC status 8") and took >= 1.2,
        "exhausted": lambda out, err, spans, _: nothing(out, spans) and once(err, "refuses what is sent: gRPC status 8"),
        "forbidden": lambda out, err, spans, _: nothing(out, spans) and once(err, "refuses what is sent: gRPC status 7"),
        "partly": lambda out, err, spans, _: out == "flushed 1 dropped 2" and len(spans) == SPANS
        and once(err, f"did not take 2 of {SPANS} records: too old"),
        "hang": lambda out, err, spans, _: everything(out, spans) and once(err, "cannot deliver to"),
    }
    failed = 0
    for answer, holds in expected.items():
        out, err, spans, took = run(sender, program, answer, "&timeout=700ms" if answer == "hang" else "")
        ok = holds(out, err, spans, took)
        print(f"{'ok    ' if ok else 'FAILED'} {answer}: {out}, {len(spans)} spans, {took:.1f} s")
        if not ok:
            print(err)
        failed += not ok
    sys.exit(1 if failed else 0)


main()
