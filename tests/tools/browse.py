#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""browse.py URL EXPRESSION... - open URL in headless Chromium and print what each expression of
JavaScript is there, awaited, one a line, as JSON. Among them may be further URLs to open. What a
page was not allowed to do or threw is printed to stderr, and makes the exit status 1. CHROMIUM may
name the browser; SCREENSHOT a file for the page as it is at the end.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile


class Page:
    """A tab, by the protocol of Chromium's developer tools, over a pair of pipes."""

    def __init__(self, profile):
        theirs_in, self.to = os.pipe()
        self.come, theirs_out = os.pipe()

        def as_3_and_4():
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "--window-size=1200,2600", "about:blank"],
            preexec_fn=as_3_and_4, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest = b""
        self.count = 0
        self.session = None
        self.trouble = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            came = os.read(self.come, 1 << 16)
            if not came:
                sys.exit("browse.py: the browser has ended")
            self.rest += came
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        request = {"id": self.count, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.count:
                if "error" in message:
                    sys.exit(f"browse.py: {method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.trouble.append(json.dumps(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["source"] != "network":
            self.trouble.append(params["entry"]["text"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"browse.py: {expression}: {json.dumps(result['exceptionDetails'])}")
        return result["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = Page(profile)
        try:
            for argument in sys.argv[1:]:
                if argument.startswith(("http://", "https://")):
                    page.call("Page.navigate", url=argument)
                else:
                    print(json.dumps(page.evaluate(argument), ensure_ascii=False))
            if "SCREENSHOT" in os.environ:
                png = page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
                with open(os.environ["SCREENSHOT"], "wb") as file:
                    file.write(base64.b64decode(png))
        finally:
            page.close()
        for line in page.trouble:
            print(line, file=sys.stderr)
        return 1 if page.trouble else 0


sys.exit(main())
