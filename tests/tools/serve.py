#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py DIR PORTFILE LOG BLOCKS: an HTTP server on 127.0.0.1 with ranges, for tests of
downloads.

It writes its port to PORTFILE and a line "METHOD PATH FIRST-BYTE" a request to LOG. The beginning
of the path chooses the behaviour: /cut/ sends half of the requested bytes and breaks the
connection (except for the last KiB); /held/ sends as many blocks of 64 KiB as the file BLOCKS
says, if it exists, and logs a line WAIT if there are more, and GONE when the client has left;
/plain/ has neither ranges nor a length; /bare/ has a length but no stamp; /signed/ refuses HEAD;
/old/ and /new/ serve one file with two stamps."""

import hashlib
import http.server
import os
import select
import sys

DIRECTORY, PORTFILE, LOG, BLOCKS = sys.argv[1:]


def note(line):
    with open(LOG, "a") as log:
        log.write(f"{line}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def first_byte(self):
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes=") or self.manner == "plain":
            return 0
        return int(wanted[6:].split("-")[0])

    def begin(self):
        _, self.manner, name = self.path.split("?")[0].split("/", 2)
        path = os.path.join(DIRECTORY, name)
        if not os.path.isfile(path):
            self.send_error(404)
            return None
        with open(path, "rb") as file:
            data = file.read()
        first = self.first_byte()
        note(f"{self.command} {self.path} {first}")
        if first >= len(data) > 0:
            self.send_error(416)
            return None
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        if self.manner != "plain":
            self.send_header("Content-Length", str(len(data) - first))
        if self.manner not in ("plain", "bare"):
            self.send_header("ETag", f'"{hashlib.md5(data).hexdigest()}-{self.manner}"')
        self.end_headers()
        return data[first:]

    def do_HEAD(self):
        if self.path.startswith("/signed/"):
            self.send_error(403)
        else:
            self.begin()

    def do_GET(self):
        data = self.begin()
        if data is None:
            return
        if self.manner == "cut" and len(data) > 1024:
            data = data[: len(data) // 2]
        for at in range(0, len(data), 65536):
            if self.manner == "held" and os.path.exists(BLOCKS):
                with open(BLOCKS) as file:
                    most = int(file.read())
                if at == most * 65536:
                    note(f"WAIT {self.path}")
                    select.select([self.connection], [], [])
                    note(f"GONE {self.path}")
                    return
            self.wfile.write(data[at : at + 65536])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(PORTFILE + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(PORTFILE + ".new", PORTFILE)
server.serve_forever()
