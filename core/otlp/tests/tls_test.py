#!/usr/bin/env python3
"""An OTLP sink over TLS: tls_test.py CHILD FORK_CHILD

Makes an authority of its own with openssl, and servers that it vouches for. What is encrypted arrives, also at exit and
from the child of a fork; a receiver that can't be trusted gets nothing, and one line says why.

Exit code 77: skipped, because there is no openssl.
"""

import collections
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.certificate = self.folder / "ca.pem"
        self.key = self.folder / "ca.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 1,
                "-subj", "/CN=authority of a test", "-keyout", self.key, "-out", self.certificate)

    def vouch_for(self, name):
        """A certificate and its key."""
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)
        names = self.folder / f"{name}.names"
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days",
                1, "-extfile", names, "-out", certificate)
        return certificate, key


class Receiver:
    """Takes OTLP/JSON over TLS."""

    def __init__(self, certificate, key, authority_of_clients=None):
        receiver = self
        self.spans = collections.Counter()  # by process

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in request.get("resourceSpans", []):
                    pid = next(a["value"]["intValue"] for a in resource["resource"]["attributes"]
                               if a["key"] == "process.pid")
                    receiver.spans[pid] += sum(len(s["spans"]) for s in resource["scopeSpans"])
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if authority_of_clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(authority_of_clients)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request, address):  # the handshake in the connection's own thread
                with context.wrap_socket(request, server_side=True) as encrypted:
                    super().finish_request(encrypted, address)

            def handle_error(self, *_):  # a client that doesn't trust us
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def run(child, mode, url, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "TELLTALE_"))}
    environment.update(TELLTALE_SINKS=f"otlp:{url}?protocol=http/json", TELLTALE_OVERFLOW="block",
                       TELLTALE_EXIT_TIMEOUT="20s", OTEL_METRICS_EXPORTER="none", OTEL_LOGS_EXPORTER="none",
                       TSAN_OPTIONS="report_thread_leaks=0")  # a sending thread that exit no longer waits for
    environment.update({k: str(v) for k, v in variables.items()})
    return subprocess.run([child, mode], env=environment, capture_output=True, text=True, timeout=60)


failed = 0


def check(what, holds, details):
    global failed
    print(f"{'ok    ' if holds else 'FAILED'} {what}")
    if not holds:
        failed += 1
        print(details)


def main():
    if shutil.which("openssl") is None:
        print("SKIPPED: no openssl here, so there are no certificates")
        sys.exit(77)
    child, fork_child = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        ours = Authority(pathlib.Path(folder) / "ours")
        others = Authority(pathlib.Path(folder) / "others")
        server = ours.vouch_for("server")
        client = ours.vouch_for("client")
        stranger = others.vouch_for("stranger")

        with Receiver(*server) as r:
            p = run(child, "exit", r.url, OTEL_EXPORTER_OTLP_CERTIFICATE=ours.certificate)
            check("everything is delivered before the program is gone",
                  p.returncode == 0 and p.stderr == "" and list(r.spans.values()) == [200], (p, r.spans))
        with Receiver(*server) as r:
            p = run(fork_child, "fork", r.url, OTEL_EXPORTER_OTLP_CERTIFICATE=ours.certificate)
            check("the parent and the child of a fork send each their own",
                  p.returncode == 0 and p.stderr == "" and sorted(r.spans.values()) == [20, 40], (p, r.spans))
        with Receiver(*server) as r:
            p = run(child, "exit", r.url, OTEL_EXPORTER_OTLP_CERTIFICATE=others.certificate,
                    TELLTALE_EXIT_TIMEOUT="2s")
            lines = p.stderr.splitlines()
            check("the wrong authority is one line that names its file",
                  p.returncode == 0 and not r.spans and len(lines) == 2 and f'cannot deliver to {r.url}' in lines[0]
                  and "certificate" in lines[0] and str(others.certificate) in lines[0]
                  and "exit did not wait" in lines[1], (p, r.spans))
        with Receiver(*server) as r:
            p = run(child, "exit", r.url, TELLTALE_EXIT_TIMEOUT="1s")
            check("an authority that nobody knows is one line that says how to name it",
                  p.returncode == 0 and not r.spans and p.stderr.count("cannot deliver") == 1
                  and "OTEL_EXPORTER_OTLP_CERTIFICATE" in p.stderr, (p, r.spans))
        not_pem = pathlib.Path(folder) / "not.pem"
        not_pem.write_text("this is no certificate\n")
        with Receiver(*server) as r:
            p = run(child, "exit", r.url, OTEL_EXPORTER_OTLP_CERTIFICATE=not_pem, TELLTALE_EXIT_TIMEOUT="1s")
            check("a file that holds no certificate is one line that names it",
                  p.returncode == 0 and not r.spans and p.stderr.count("cannot deliver") == 1
                  and str(not_pem) in p.stderr, (p, r.spans))
        for who, expected in ((client, [200]), (stranger, [])):
            with Receiver(*server, authority_of_clients=ours.certificate) as r:
                p = run(child, "exit", r.url, OTEL_EXPORTER_OTLP_CERTIFICATE=ours.certificate,
                        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=who[0], OTEL_EXPORTER_OTLP_CLIENT_KEY=who[1],
                        TELLTALE_EXIT_TIMEOUT="20s" if expected else "1s")
                check(f"a receiver that wants to know its clients {'takes' if expected else 'refuses'} {who[0].name}",
                      p.returncode == 0 and list(r.spans.values()) == expected
                      and p.stderr.count("cannot deliver") == (0 if expected else 1), (p, r.spans))
    sys.exit(1 if failed else 0)


main()
