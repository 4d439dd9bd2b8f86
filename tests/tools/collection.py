#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""collection.py PORT DIRECTORY PORTFILE: a proxy for litmus, which makes a collection to work in.

Requests go to the server at PORT of 127.0.0.1, where no collection can be made. The proxy shows a
collection litmus/ in DIRECTORY, which can be made and removed and is DIRECTORY itself. The proxy's
own port is written to PORTFILE.
"""

import http.client
import http.server
import sys

HOP_BY_HOP = ("connection", "te", "transfer-encoding", "content-length", "expect", "host")


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port = 0
    there = here = ""

    def translated(self, text, back=False):
        """Translate paths and addresses from litmus's to the server's, or with back in reverse."""
        ours, theirs = f":{self.server.server_port}/", f":{self.port}/"
        if back:
            return text.replace(theirs, ours).replace(self.there, self.here)
        return text.replace(ours, theirs).replace(self.here, self.there)

    def body(self):
        length = self.headers.get("Content-Length")
        if length:
            return self.rfile.read(int(length))
        body = b""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while n := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(n)
                self.rfile.readline()
            self.rfile.readline()
        return body

    def handle_one_request(self):
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.body()
        if f"{self.path.rstrip('/')}/" == self.here and self.command in ("DELETE", "MKCOL"):
            self.answer(201 if self.command == "MKCOL" else 404, [], b"")
            return
        server = http.client.HTTPConnection("127.0.0.1", self.port)
        server.putrequest(self.command, self.translated(self.path), skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                server.putheader(name, self.translated(value))
        if body or self.headers.get("Content-Length"):
            server.putheader("Content-Length", str(len(body)))
        server.endheaders(body)
        answer = server.getresponse()
        data = self.translated(answer.read().decode("latin-1"), True).encode("latin-1")
        self.answer(answer.status, answer.getheaders(), data)
        server.close()

    def answer(self, status, headers, data):
        empty = self.command == "HEAD" or status in (204, 304)
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, self.translated(value, True))
        if not empty:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not empty:
            self.wfile.write(data)


def main():
    Proxy.port = int(sys.argv[1])
    Proxy.there = f"/{sys.argv[2]}/"
    Proxy.here = f"{Proxy.there}litmus/"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    with open(sys.argv[3], "w", encoding="ascii") as file:
        file.write(f"{server.server_port}\n")
    server.serve_forever()


if __name__ == "__main__":
    main()
