"""ClickHouse's HTTP interface in front of chDB, for tests: front.py --directory DIR [--user U --password P] [--config F]

chDB is ClickHouse as a library, without a server. This takes statements over HTTP as a server does (in the body, or in
`query` with an insert's rows in the body), with settings as parameters, and answers with ClickHouse's own results and
errors. It prints its port, and ends when its standard input does. One statement at a time.
"""

import argparse
import http.server
import os
import re
import sys
import tempfile
import threading
import urllib.parse

import _chdb

# What stands between statements, or hides a semicolon from that: quoted text and comments.
TOKEN = re.compile(r"'(?:\\.|''|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`(?:\\.|[^`\\])*`|--[^\n]*|/\*.*?\*/|;", re.S)
NOT_FOUND = {"60", "81", "46"}
BAD_REQUEST = {"62", "36", "27", "6"}


def several(sql):
    ends = [m.end() for m in TOKEN.finditer(sql) if m.group() == ";"]
    return any(sql[end:].strip(" \t\r\n;") for end in ends)


class Refused(Exception):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, code=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        wanted = self.server.options
        if wanted.user and (
            self.headers.get("X-ClickHouse-User") != wanted.user
            or self.headers.get("X-ClickHouse-Key") != wanted.password
        ):
            text = b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED) (version 26)\n"
            self.answer(403, text, "516")
            return
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))
        try:
            with self.server.lock:
                result = self.run(parameters, body)
            self.answer(200, result)
        except Exception as e:  # chDB raises RuntimeError with the server's own text
            text = str(e)
            found = re.match(r"Code: (\d+)", text)
            code = found.group(1) if found else "1002"
            status = 404 if code in NOT_FOUND else 400 if code in BAD_REQUEST else 500
            self.answer(status, (text + " (version 26)\n").encode(), code)

    def run(self, parameters, body):
        query = parameters.pop("query", None)
        sql = query if query is not None else body.decode()
        if several(sql):
            raise Refused("Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)")
        parameters.pop("wait_end_of_query", None)
        form = parameters.pop("default_format", "TabSeparated")
        connection = _chdb.connect(self.server.options.connection)
        try:
            connection.query("USE `" + parameters.pop("database", "default") + "`")
            readonly = parameters.pop("readonly", None)
            for key, value in parameters.items():
                connection.query("SET " + key + " = '" + value.replace("'", "") + "'")
            if readonly:
                connection.query("SET readonly = " + readonly)
            if query is None:
                return connection.query(sql, form).bytes()
            insert = re.fullmatch(r"(INSERT INTO .*) FORMAT RowBinary", sql)
            if not insert:
                raise Refused("Code: 62. DB::Exception: this front takes rows as RowBinary. (SYNTAX_ERROR)")
            # chDB cuts binary rows in a statement's text; a file is read as it is.
            with tempfile.NamedTemporaryFile(dir=self.server.options.directory) as rows:
                rows.write(body)
                rows.flush()
                connection.query(insert.group(1) + " FROM INFILE '" + rows.name + "' FORMAT RowBinary")
            return b""
        finally:
            connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--user", default="")
    parser.add_argument("--password", default="")
    parser.add_argument("--config", default="")
    options = parser.parse_args()
    options.connection = os.path.join(options.directory, "data")
    if options.config:
        options.connection += "?config-file=" + options.config
    first = _chdb.connect(options.connection)  # the engine stays up between requests
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.options = options
    server.lock = threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()
    first.close()


if __name__ == "__main__":
    main()
