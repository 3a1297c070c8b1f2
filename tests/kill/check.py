#!/usr/bin/env python3
"""What the hub acknowledged survives kill -9: check.py TELLTALE

TELLTALE is the built command. A hub on a store is sent spans by several connections at once and killed at a random moment,
again and again; the tables are so small that files are made and merged all the time. At last every span that was
acknowledged must be there, once, and with what it was sent with. TELLTALE_KILLS says how often (4, or 50 in ./test --long).
"""

import http.client
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

KILLS = int(os.environ.get("TELLTALE_KILLS") or (50 if os.environ.get("TELLTALE_TEST_LONG") else 4))
SENDERS = 4
SPANS = 40  # of a request


class Hub:
    def __init__(self, telltale, folder):
        self.process = subprocess.Popen([telltale, "serve", "--config", folder / "hub.toml"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        said = self.process.stdout.readline()
        listens = re.search(r"http:(\d+)", said)
        if listens is None:
            sys.exit(f"FAILED the hub did not start: {said}{self.process.stdout.read()}")
        self.port = int(listens.group(1))

    def ask(self, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request("GET" if body is None else "POST", path, body)
        a = c.getresponse()
        text = a.read()
        if a.status != 200:
            sys.exit(f"FAILED {path}: {a.status} {text.decode()}")
        return json.loads(text)


def request(first):
    spans = [{"traceId": f"{1 + i // 7:032x}", "spanId": f"{i:016x}", "name": f"s{i % 11}",
              "startTimeUnixNano": str(1_778_273_112_000_000_000 + i * 1000),
              "endTimeUnixNano": str(1_778_273_112_000_000_500 + i * 1000),
              "attributes": [{"key": "n", "value": {"intValue": str(i)}}]} for i in range(first, first + SPANS)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def send_until_it_dies(port, firsts, acknowledged):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        while True:
            first = next(firsts)
            connection.request("POST", "/v1/traces", request(first), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status == 200 and said == b"{}":
                acknowledged.append(first)
            elif answer.status != 503:
                sys.exit(f"FAILED the hub answered {answer.status} {said}")
    except (OSError, http.client.HTTPException):
        pass  # killed


def main():
    telltale = os.path.abspath(sys.argv[1])
    numbers = random.Random(20261203)
    acknowledged = []  # list.append is atomic
    with tempfile.TemporaryDirectory(prefix="telltale-kill-") as name:
        folder = pathlib.Path(name)
        (folder / "hub.toml").write_text(f'[store]\ndirectory = "{name}/store"\nrows_per_file = 1500\n'
                                         'time_per_file = "1s"\n[http]\nlisten = ["127.0.0.1:0"]\n'
                                         '[grpc]\nlisten = ["127.0.0.1:0"]\n')
        firsts = [iter(range(1 + k * SPANS, 1 << 62, SENDERS * SPANS)) for k in range(SENDERS)]
        for _ in range(KILLS):
            hub = Hub(telltale, folder)
            senders = [threading.Thread(target=send_until_it_dies, args=(hub.port, f, acknowledged)) for f in firsts]
            for s in senders:
                s.start()
            time.sleep(numbers.uniform(0.05, 1.5))
            hub.process.kill()
            hub.process.wait()
            for s in senders:
                s.join()

        hub = Hub(telltale, folder)
        for _ in range(600):
            if hub.ask("/api/v1/store")["waiting"] == 0:
                break
            time.sleep(0.1)
        stored = {}
        size = 200_000
        while True:
            rows = hub.ask(f"/api/v1/sql?limit={size}", "SELECT span, min(name), min(start_ns - 1778273112000000000), "
                           "count(*), min(duration_ns), min(attributes) FROM spans GROUP BY span ORDER BY span "
                           f"LIMIT {size} OFFSET {len(stored)}")["rows"]
            stored.update({int(r[0]): r[1:] for r in rows})
            if len(rows) < size:
                break
        missing = changed = 0
        for first in acknowledged:
            for i in range(first, first + SPANS):
                row = stored.get(i)
                missing += row is None
                changed += row is not None and row != [f"s{i % 11}", i * 1000, 1, 500, f'{{"n":{i}}}']
        files = hub.ask("/api/v1/store")["files"]
        hub.process.terminate()
        hub.process.wait()
        sent = len(acknowledged) * SPANS
        ok = missing == 0 and changed == 0 and sent >= KILLS * SPANS
        print(f"{'ok    ' if ok else 'FAILED'} {KILLS} times killed: {sent} spans acknowledged, {len(stored)} there, "
              f"{missing} missing, {changed} changed or twice, {files} files")
        sys.exit(0 if ok else 1)


main()
