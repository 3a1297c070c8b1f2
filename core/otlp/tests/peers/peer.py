"""What the tests against real receivers share: building one, sending to it, and comparing what it has with what was sent.

A receiver is a Go program, built into a cache outside the repository. Where Go isn't there, or a module can't be
fetched, the test is skipped (exit code 77) and says so.
"""

import collections
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "telltale"


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def build(name, what, folder, package="."):
    """The program `name`, built once for each go.sum from the module in `folder`."""
    if shutil.which("go") is None:
        skip(f"no Go compiler here (any Go from 1.26 on), so there is no {what} to talk to")
    cache = CACHE / name
    program = cache / name
    stamp = cache / "go.sum"
    if program.exists() and stamp.exists() and stamp.read_bytes() == (folder / "go.sum").read_bytes():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    program.unlink(missing_ok=True)
    for file in (*folder.glob("*.go"), folder / "go.mod", folder / "go.sum"):
        shutil.copy(file, cache / file.name)
    built = subprocess.run(["go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", program, package],
                           cwd=cache, capture_output=True, text=True)
    if built.returncode != 0:
        skip(f"{what} could not be built: " + built.stderr.strip().splitlines()[-1])
    return program


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Program:
    """A receiver that runs until stop(), its output in a file."""

    def __init__(self, name, words, log, ports, environment=None):
        self.log = pathlib.Path(log)
        with open(log, "ab") as to:
            self.process = subprocess.Popen([str(w) for w in words], stdout=to, stderr=to,
                                            env={**os.environ, **(environment or {})})
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            try:
                for port in ports:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        self.stop()
        sys.exit(f"{name} does not start:\n" + self.log.read_text()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def send(sender, sinks, *arguments, stderr=None, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "TELLTALE_"))}
    environment.update(TELLTALE_SINKS=sinks, OTEL_SERVICE_NAME="sender", OTEL_METRICS_EXPORTER="otlp",
                       TELLTALE_OVERFLOW="block")
    environment.update(variables)
    return subprocess.Popen([sender, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=stderr,
                            text=True)


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


def records(requests, outer, scopes, inner):
    """Every record of some requests with its resource and scope, in order of the record."""
    found = []
    for request in requests:
        for resource in request.get(outer, []):
            for scope in resource[scopes]:
                for record in scope[inner]:
                    found.append(canonical({"resource": resource["resource"], "scope": scope["scope"],
                                            "record": record}))
    return found


def requests_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def as_texts(found):
    return sorted(json.dumps(r, sort_keys=True) for r in found)


def spans(path):
    return as_texts(records(requests_in(path), "resourceSpans", "scopeSpans", "spans"))


def lines(path):
    return as_texts(records(requests_in(path), "resourceLogs", "scopeLogs", "logRecords"))


def difference(ours, theirs):
    missing = collections.Counter(ours) - collections.Counter(theirs)
    extra = collections.Counter(theirs) - collections.Counter(ours)
    one = lambda c: next(iter(c), "none")
    return f"{sum(missing.values())} missing, {sum(extra.values())} extra\nmissing: {one(missing)}\nextra:   {one(extra)}"
