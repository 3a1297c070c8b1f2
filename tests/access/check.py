#!/usr/bin/env python3
"""Who may send to the hub, and how much: check.py TELLTALE, the built command.

Over HTTPS and over gRPC with TLS, each with curl: an untrusted certificate, a missing and a wrong token, a request that is
too large, one that only unpacks to too much, the wrong type, what is no protobuf; attributes and strings beyond the limits;
and whether partial_success says what is true.

Exit code 77: skipped, because openssl is missing, or a curl that speaks HTTP/2.
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TOKEN = "correct horse"
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
OK, INVALID, EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED = 0, 3, 8, 12, 16
failed = 0


def tell(what, got, wanted):
    global failed
    failed += got != wanted
    print(f"{'ok    ' if got == wanted else 'FAILED'} {what}{'' if got == wanted else f': {got}, not {wanted}'}", flush=True)


def number(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(n, content):
    return number(n << 3 | 2) + number(len(content)) + content


def attribute(key, text):
    return field(9, field(1, key) + field(2, field(1, text)))


def span(id, start=1, end=2, attributes=()):
    return field(2, field(1, bytes(15) + b"\1") + field(2, struct.pack(">Q", id)) + field(5, b"s")
                 + b"\x39" + struct.pack("<Q", start) + b"\x41" + struct.pack("<Q", end)
                 + b"".join(attribute(k, v) for k, v in attributes))


def request(*spans):
    return field(1, field(2, b"".join(spans)))


class Hub:
    def __init__(self, telltale, folder):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "1", "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        folder / "key.pem", "-out", folder / "hub.pem"], check=True, capture_output=True)
        (folder / "token").write_text(TOKEN + "\n")
        (folder / "hub.toml").write_text(f'''
[store]
directory = "{folder}/store"
[http]
listen = ["127.0.0.1:0"]
max_body = "1MiB"
[grpc]
listen = ["127.0.0.1:0"]
[access]
token_file = "{folder}/token"
tls_certificate = "{folder}/hub.pem"
tls_key = "{folder}/key.pem"
[limits]
attributes = 3
string_bytes = 16
''')
        self.folder = folder
        self.process = subprocess.Popen([telltale, "serve", "--config", folder / "hub.toml"], stdout=subprocess.PIPE,
                                        text=True)
        listens = re.search(r"http:(\d+) grpc:(\d+)", self.process.stdout.readline())
        if listens is None:
            sys.exit("FAILED the hub did not start")
        self.http, self.grpc = listens.groups()

    def curl(self, port, path, body, headers, more, scheme="https", trusted=True):
        """The exit code, the headers with those that follow the body, and the body."""
        (self.folder / "body").write_bytes(body if body is not None else b"")
        words = ["curl", "--silent", "--max-time", "60", "--dump-header", self.folder / "headers", *more]
        if trusted:
            words += ["--cacert", self.folder / "hub.pem"]
        if body is not None:
            words += ["--data-binary", f"@{self.folder}/body"]
        for h in headers:
            words += ["--header", h]
        (self.folder / "headers").write_text("")
        done = subprocess.run([*words, f"{scheme}://127.0.0.1:{port}{path}"], stdout=subprocess.PIPE, check=False)
        return done.returncode, (self.folder / "headers").read_text(errors="replace"), done.stdout

    def over_http(self, body, type="application/x-protobuf", token=TOKEN, headers=(), path="/v1/traces"):
        headers = [f"Content-Type: {type}", "Expect:", *headers]
        if token is not None:
            headers.append(f"Authorization: Bearer {token}")
        code, said, answer = self.curl(self.http, path, body, headers, ["--http1.1"])
        status = re.search(r"^HTTP/\S+ (\d+)", said)
        return int(status.group(1)) if status else f"curl {code}", answer

    def over_grpc(self, message, token=TOKEN, packed=False, path=METHOD):
        headers = ["Content-Type: application/grpc", "TE: trailers"]
        if token is not None:
            headers.append(f"Authorization: Bearer {token}")
        if packed:
            headers.append("grpc-encoding: gzip")
            message = gzip.compress(message)
        frame = bytes([packed]) + struct.pack(">I", len(message)) + message
        for _ in range(20):  # refused before all is sent, curl may see the end of the stream and no reason
            code, said, answer = self.curl(self.grpc, path, frame, headers, ["--http2"])
            status = re.search(r"^grpc-status: (\d+)", said, re.M)
            if code != 92 or status:
                break
        return int(status.group(1)) if status else f"curl {code} {said}", answer[5:]

    def peak_memory(self):
        return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text()).group(1))


def main():
    for tool in ("curl", "openssl"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: {tool} is missing")
            sys.exit(77)
    if "HTTP2" not in subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout:
        print("SKIPPED: this curl speaks no HTTP/2")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        hub = Hub(os.path.abspath(sys.argv[1]), pathlib.Path(name))
        try:
            check(hub)
        finally:
            hub.process.terminate()
            rc = hub.process.wait(timeout=60)
        tell("the hub ends in peace", rc, 0)
    sys.exit(1 if failed else 0)


def check(hub):
    one = request(span(1))
    tell("a stranger's certificate is not trusted", hub.curl(hub.http, "/healthz", None, [], [], trusted=False)[0], 60)
    code, said, _ = hub.curl(hub.http, "/healthz", None, [], [], scheme="http")
    tell("nothing is said without TLS", code != 0 or not said.startswith("HTTP/1.1 200"), True)
    tell("/healthz wants no token", hub.curl(hub.http, "/healthz", None, [], [])[2], b"ok\n")
    for way, send, refused, allowed in (("HTTPS", hub.over_http, 401, 200), ("gRPC", hub.over_grpc, UNAUTHENTICATED, OK)):
        tell(f"{way}: no token", send(one, token=None)[0], refused)
        tell(f"{way}: another token", send(one, token=TOKEN + "x")[0], refused)
        tell(f"{way}: half a token", send(one, token=TOKEN[:4])[0], refused)
        tell(f"{way}: the token", send(one)[0], allowed)
    tell("the questions want it too", hub.over_http(None, token=None, path="/api/v1/traces")[0], 401)
    tell("... Jaeger's as well", hub.over_http(None, token=None, path="/api/services")[0], 401)

    before = hub.peak_memory()
    large = request(*[span(i) for i in range(2, 30_000)])
    assert len(large) > 1 << 20
    bomb = request(span(2, attributes=[(b"k", bytes(400 << 20))]))
    assert len(gzip.compress(bomb)) < 1 << 20
    packed = ["Content-Encoding: gzip"]
    tell("HTTPS: too large", hub.over_http(large)[0], 413)
    tell("HTTPS: too large, in chunks", hub.over_http(large, headers=["Transfer-Encoding: chunked"])[0], 413)
    tell("HTTPS: unpacks to too much", hub.over_http(gzip.compress(bomb), headers=packed)[0], 413)
    tell("HTTPS: packed", hub.over_http(gzip.compress(request(span(1))), headers=packed)[0], 200)
    tell("HTTPS: packed, and cut off", hub.over_http(gzip.compress(one)[:-9], headers=packed)[0], 400)
    tell("HTTPS: packed in another way", hub.over_http(one, headers=["Content-Encoding: br"])[0], 415)
    tell("HTTPS: another type", hub.over_http(one, type="text/plain")[0], 415)
    tell("HTTPS: no protobuf", hub.over_http(b"\x0a\xff")[0], 400)
    tell("HTTPS: no JSON", hub.over_http(b"{", type="application/json")[0], 400)
    tell("gRPC: too large", hub.over_grpc(large)[0], EXHAUSTED)
    tell("gRPC: unpacks to too much", hub.over_grpc(bomb, packed=True)[0], EXHAUSTED)
    tell("gRPC: packed", hub.over_grpc(request(span(1)), packed=True)[0], OK)
    tell("gRPC: no protobuf", hub.over_grpc(b"\x0a\xff")[0], INVALID)
    tell("gRPC: another service", hub.over_grpc(one, path="/helloworld.Greeter/SayHello")[0], UNIMPLEMENTED)
    grown = hub.peak_memory() - before
    tell(f"the memory of what was refused ({grown >> 10} MiB) is bounded", grown < 100 << 10, True)

    # Of three spans one ends before it starts and one has no id.
    mixed = request(span(7), span(8, start=5, end=4), span(0))
    partial = field(1, b"\x08\x02" + field(2, b"span \"s\" ends before it starts"))
    tell("HTTPS: partial_success", hub.over_http(mixed), (200, partial))
    tell("gRPC: partial_success", hub.over_grpc(mixed), (OK, partial))
    tell("HTTPS: nothing to say", hub.over_http(request(span(9))), (200, b""))
    tell("gRPC: nothing to say", hub.over_grpc(request(span(10))), (OK, b""))

    # Four attributes where three may be, one text of 21 bytes where 16 may be: kept, shortened, counted.
    wide = [(b"a", b"1"), (b"b", "1äöüäöüäöüä".encode()), (b"c", b"3"), (b"d", b"4")]
    for way, send, id in (("HTTPS", hub.over_http, 11), ("gRPC", hub.over_grpc, 12)):
        before = figure(hub, "shortened")
        tell(f"{way}: beyond the limits it is kept", send(request(span(id, attributes=wide)))[1], b"")
        tell(f"{way}: ... and counted", figure(hub, "shortened") - before, 2)
    while json.loads(hub.over_http(None, path="/api/v1/store")[1])["waiting"]:
        pass
    said = json.loads(hub.over_http(b"SELECT span, attributes FROM spans ORDER BY span", path="/api/v1/sql")[1])
    rows = {int(r[0]): json.loads(r[1]) for r in said["rows"]}
    tell("what is kept is what was acknowledged", sorted(rows), [1, 7, 9, 10, 11, 12])
    for id in (11, 12):
        tell(f"... shortened between letters ({id})", rows[id], {"a": "1", "b": "1äöüäöüä", "c": "3"})
    tell("rejected spans are counted", figure(hub, "rejected"), 4)
    tell("what could not be read is counted", figure(hub, "malformed_requests"), 3)


def figure(hub, name):
    text = hub.over_http(None, path="/metrics")[1].decode()
    return int(re.search(rf'^telltale_hub_{name}_total{{signal="traces"}} (\d+)$', text, re.M).group(1))


main()
