#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ranges.py DIR PORTFILE LOG: an HTTP server on 127.0.0.1 for tests of remote models.

It writes its port to PORTFILE and a line "METHOD PATH RANGE STATUS BYTES" for each request to LOG.
The first part of the path chooses the server's behaviour; FILE is in DIR:

/good/FILE      ranges, ETag, Last-Modified       /dated/FILE    no ETag
/none/FILE      knows no ranges                   /nameless/FILE neither ETag nor Last-Modified
/cut/FILE       breaks off in the middle of answers above 8 KiB, unless DIR/whole is there
/slow/FILE      16 KiB a tenth of a second        /hang/FILE     never answers once DIR/hang is there
/busy/FILE      every second answer is a 503      /gone/FILE     503 once DIR/gone is there
/shifted/FILE   answers with other bytes than those asked for, and says so, behind the first block
/nowhere/FILE   does not say which bytes          /packed/FILE   says that they are compressed
/endless/FILE   sends bytes without end           /longer/FILE   says the file has one byte more
/growing/FILE   each answer says another length   /trailing/FILE a trailer takes back the range
/moved/FILE     a redirect to /good/FILE          /local/FILE    a redirect to a file: URL
/loop/FILE      a redirect to itself              /signed/FILE   one to /ticket/N/FILE, good for 5
/plain/FILE     a redirect to http://            /unended/FILE  in chunks, of which the last lacks
/flood/FILE     a redirect whose page takes 5 s,  /drip/FILE     a byte a hundredth of a second,
                behind the first block                           behind the first block
/bent/FILE      a redirect to /part/FILE          /part/FILE     503 for byte 200000 and on
/secret/FILE    wants the user "me" with the password "pass word"
/token/FILE     wants the token "hf_secret", and leads to /bare/FILE at localhost
/bare/FILE      wants no token

CERTIFICATE in the environment, a file with a key and a certificate, makes the server use HTTPS.
"""

import base64
import email.utils
import http.server
import os
import re
import ssl
import sys
import threading
import time

DIRECTORY, PORTFILE, LOG = sys.argv[1:]
BLOCK = 65536


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    lock = threading.Lock()
    count = 0
    tickets = 0
    uses = {}

    def log_message(self, *_):
        pass

    def note(self, status, sent):
        with self.lock, open(LOG, "a") as log:
            wanted = self.headers.get("Range", "-")
            log.write(f"{self.command} {self.path} {wanted} {status} {sent}\n")

    def refuse(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.note(status, 0)
        self.end_headers()

    def is_there(self, name):
        return os.path.exists(os.path.join(DIRECTORY, name))

    def next(self):
        with self.lock:
            Handler.count += 1
            return Handler.count

    def ticket(self, rest):
        """Is the ticket in /ticket/N/FILE valid?"""
        number = rest.split("/")[0]
        with self.lock:
            self.uses[number] = self.uses.get(number, 0) + 1
            return self.uses[number] <= 5

    def refused(self, manner, rest):
        """Answer without a file: redirects and errors."""
        if manner == "moved":
            self.refuse(302, Location=f"/good/{rest}")
        elif manner == "bent":
            self.refuse(302, Location=f"/part/{rest}")
        elif manner == "part" and "=200000-" in self.headers.get("Range", ""):
            self.refuse(503)
        elif manner == "local":
            self.refuse(302, Location=f"file://{DIRECTORY}/{rest}")
        elif manner == "plain":
            self.refuse(302, Location=f"http://{self.headers['Host']}/good/{rest}")
        elif manner == "loop":
            self.refuse(302, Location=self.path)
        elif manner == "flood" and "=0-" not in self.headers.get("Range", ""):
            self.flood(f"/good/{rest}")
        elif manner == "signed":
            with self.lock:
                Handler.tickets += 1
            self.refuse(302, Location=f"/ticket/{self.tickets}/{rest}")
        elif manner == "ticket" and not self.ticket(rest):
            self.refuse(403)
        elif manner == "busy" and self.next() % 2:
            self.refuse(503)
        elif manner == "gone" and self.is_there("gone"):
            self.refuse(503)
        elif manner == "secret" and self.headers.get("Authorization") != "Basic " + \
                base64.b64encode(b"me:pass word").decode():
            self.refuse(401)
        elif manner == "token":
            fits = self.headers.get("Authorization") == "Bearer hf_secret"
            self.refuse(302 if fits else 401, Location="https://localhost:" +
                        self.headers["Host"].split(":")[1] + f"/bare/{rest}")
        elif manner == "bare" and "Authorization" in self.headers:
            self.refuse(400)
        elif manner == "hang" and self.is_there("hang"):
            while self.is_there("hang"):
                time.sleep(0.05)
            self.close_connection = True
        else:
            return False
        return True

    def flood(self, where):
        self.send_response(302)
        self.send_header("Location", where)
        self.send_header("Transfer-Encoding", "chunked")
        self.note(302, 0)
        self.end_headers()
        try:
            for _ in range(500):
                self.wfile.write(b"4\r\npage\r\n")
                time.sleep(0.01)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def do_GET(self):
        _, manner, rest = self.path.split("?")[0].split("/", 2)
        if self.refused(manner, rest):
            return
        name = rest.split("/", 1)[1] if manner == "ticket" else rest
        try:
            file = open(os.path.join(DIRECTORY, name), "rb")
        except OSError:
            self.refuse(404)
            return
        with file:
            self.send_part(file, manner)

    def send_part(self, file, manner):
        stat = os.fstat(file.fileno())
        size = stat.st_size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if manner == "none" or not wanted:
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.send_bytes(file, 0, size, manner, 200)
            return
        first, last = int(wanted[1]), min(int(wanted[2]), size - 1)
        if first >= size:
            self.refuse(416)
            return
        if manner == "shifted" and first:
            first, last = first - 1, last - 1
        total = size + (manner == "longer") + (self.next() if manner == "growing" else 0)
        self.send_response(206)
        if manner != "nowhere":
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        if manner == "packed":
            self.send_header("Content-Encoding", "gzip")
        if manner not in ("dated", "nameless"):
            self.send_header("ETag", f'"{stat.st_mtime_ns:x}-{stat.st_ino:x}-{size:x}"')
        if manner != "nameless":
            self.send_header("Last-Modified", email.utils.formatdate(stat.st_mtime, usegmt=True))
        if manner == "trailing" and first:
            self.send_trailing(file, first)
            return
        if manner == "unended":
            self.send_unended(file, first, last - first + 1)
            return
        if manner == "endless" and first:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.send_bytes(file, first, last - first + 1, manner, 206)

    def send_trailing(self, file, first):
        """Send ten bytes, and their Content-Range in a trailer."""
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        data = os.pread(file.fileno(), 10, first)
        self.note(206, 10)
        self.wfile.write(b"a\r\n" + data + b"\r\n0\r\n" +
                         f"Content-Range: bytes {first}-{first + 9}/".encode() +
                         str(os.fstat(file.fileno()).st_size).encode() + b"\r\n\r\n")

    def send_unended(self, file, first, n):
        """Send all bytes in chunks, and break the connection before the last one."""
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.note(206, n)
        self.wfile.write(f"{n:x}\r\n".encode() + os.pread(file.fileno(), n, first) + b"\r\n")
        self.close_connection = True

    def send_bytes(self, file, first, n, manner, status):
        whole, sent = n, 0
        step = 16384 if manner == "slow" else 1 << 20
        if manner == "cut" and n > 8192 and not self.is_there("whole"):
            n //= 2
        # Log before the client has the whole answer and may count.
        self.note(status, n)
        try:
            while sent < n or (manner == "endless" and first):
                data = os.pread(file.fileno(), min(step, max(n - sent, 1)), first + sent)
                if manner == "drip" and first:
                    data = data[:1]
                    time.sleep(0.01)
                self.wfile.write(data or b"x" * 65536)
                sent += len(data)
                if manner == "slow":
                    time.sleep(0.1)
        except OSError:
            self.close_connection = True
        if n < whole:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
if "CERTIFICATE" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["CERTIFICATE"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(PORTFILE + ".new", "w") as out:
    out.write(f"{server.server_address[1]}\n")
os.rename(PORTFILE + ".new", PORTFILE)
server.serve_forever()
