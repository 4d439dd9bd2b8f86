#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server redirects to another host: the first one's password is not sent there, and a redirect to
# another protocol than HTTP is not followed.
. "${0%/*}/../lib.sh"

mkdir "$TMP/www"
cp "$MODELS/stories260K.gguf" "$TMP/www/m.gguf"
cat >"$TMP/two.py" <<'END'
import http.server
import os
import sys
import threading

model, ports, seen = sys.argv[1:]
with open(model, "rb") as file:
    content = file.read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        with open(seen, "a", encoding="ascii") as log:
            print(self.server.server_port, self.path, self.headers.get("Authorization", "-"),
                  file=log)
        leads = self.path.startswith(("/to/", "/file/"))
        first, _, last = self.headers.get("Range", "bytes=0-")[6:].partition("-")
        first, last = int(first), min(int(last or len(content)), len(content) - 1)
        body = b"" if leads else content[first:last + 1]
        self.send_response(302 if leads else 206)
        if self.path.startswith("/to/"):
            self.send_header("Location", f"http://127.0.0.1:{second.server_port}/m.gguf")
        elif leads:
            self.send_header("Location", "file://" + model)
        else:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


first, second = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in "12")
threading.Thread(target=first.serve_forever, daemon=True).start()
with open(ports + ".new", "w", encoding="ascii") as file:
    print(first.server_port, second.server_port, file=file)
os.rename(ports + ".new", ports)
second.serve_forever()
END
python3 "$TMP/two.py" "$TMP/www/m.gguf" "$TMP/ports" "$TMP/seen" 2>"$LOGS/two" </dev/null &
SERVER=$!
until_true 60 test -e "$TMP/ports" || late "no server: $(cat "$LOGS/two")"
read -r first second <"$TMP/ports"

mount_model -o ro "http://me:sesame@127.0.0.1:$first/to/m.gguf"
same "$MNT/model.gguf" "$TMP/www/m.gguf"
unmount_and_wait
grep -q "^$first /to/m.gguf Basic " "$TMP/seen" || fail 'the first has no password'
grep -q "^$second /m.gguf -$" "$TMP/seen" || fail 'the second is not asked'
! grep "^$second .*Basic" "$TMP/seen" || fail 'the second has the password'
expect_fail '^organfs: .*/file/m.gguf: ' "$ORGANFS" "http://127.0.0.1:$first/file/m.gguf" "$MNT"
! mountpoint -q "$MNT" || fail 'a file is mounted'
end_server
