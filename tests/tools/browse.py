#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""browse.py URL STEP... - open URL in headless Chromium and take one step after another:

    http://...             open another page
    wait: EXPRESSION       until it is true, for at most four minutes
    click: SELECTOR        with the mouse, in the middle of the first element of that selector
    hover: SELECTOR        move the mouse there
    drag: SELECTOR >> SELECTOR    from one element to another one
    key: NAME              Tab, Enter, Escape, Space, ...
    type: TEXT             as if by the keyboard
    shell: COMMAND         run another program meanwhile
    script: FILE           run the commands in a file
    picture: FILE          save the visible page as PNG
    media: light|dark      the colour scheme that the user prefers
    size: WIDTHxHEIGHT     of the window; HEIGHT may be "all", for all of the page
    EXPRESSION             print its value, awaited, as JSON on a line of its own

Exceptions of the page and its refused requests are printed to stderr; the exit status is then 1.
CHROMIUM may name the browser; SCREENSHOT a file for the page as it is at the end.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

# Seconds until a wait fails: long enough for a slow machine.
PATIENCE = 240


class Page:
    """A tab, controlled by the protocol of Chromium's developer tools over a pair of pipes."""

    def __init__(self, profile):
        theirs_in, self.to = os.pipe()
        self.come, theirs_out = os.pipe()

        def as_3_and_4():
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [os.environ.get("CHROMIUM", "chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
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
        self.dragged = None
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
        elif message.get("method") == "Input.dragIntercepted":
            self.dragged = params["data"]
        elif message.get("method") == "Log.entryAdded" and params["entry"]["source"] != "network":
            self.trouble.append(params["entry"]["text"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"browse.py: {expression}: {json.dumps(result['exceptionDetails'])}")
        return result["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.evaluate(f"(() => {{ try {{ return !!({expression}); }} catch {{ }} }})()"):
            if time.monotonic() > end:
                sys.exit(f"browse.py: this does not come true: {expression}")
            time.sleep(0.05)

    def middle(self, selector):
        """Scroll an element into view. Returns its middle, once it exists and stays in place."""
        one = f"document.querySelector({json.dumps(selector)})"
        self.wait(one)
        look = f"""(() => {{ const one = {one}; one.scrollIntoView({{block: "center",
            behavior: "instant"}}); const box = one.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        box, before = self.evaluate(look), None
        for _ in range(100):
            if box == before:
                break
            time.sleep(0.1)
            box, before = self.evaluate(look), box
        return {"x": box[0], "y": box[1]}

    def mouse(self, kind, place, **more):
        self.call("Input.dispatchMouseEvent", type=kind, **place, **more)

    def click(self, selector):
        place = self.middle(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, place, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def drag(self, selectors):
        """Drag between two selectors; Chromium hands the dragged data to this driver."""
        source, target = selectors.split(" >> ")
        self.call("Input.setInterceptDrags", enabled=True)
        start = self.middle(source)
        self.dragged = None
        self.mouse("mouseMoved", start)
        self.mouse("mousePressed", start, button="left", buttons=1, clickCount=1)
        for step in (5, 10, 15):
            self.mouse("mouseMoved", {"x": start["x"] + step, "y": start["y"] + step},
                       button="left", buttons=1)
        end = time.monotonic() + PATIENCE
        while self.dragged is None:
            if time.monotonic() > end:
                sys.exit(f"browse.py: {source} cannot be dragged")
            self.evaluate("0")
        place = self.middle(target)
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, **place, data=self.dragged)
        self.mouse("mouseReleased", place, button="left", clickCount=1)

    def key(self, name):
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowDown": 40}[name]
        text = {"Enter": "\r", "Space": " "}.get(name)
        key = " " if name == "Space" else name
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=name,
                  windowsVirtualKeyCode=code, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=name,
                  windowsVirtualKeyCode=code)

    def size(self, words):
        width, height = words.split("x")
        tall = height == "all"
        self.call("Emulation.setDeviceMetricsOverride", width=int(width), deviceScaleFactor=1,
                  height=900 if tall else int(height), mobile=False)
        if tall:
            self.size(f"{width}x{self.evaluate('document.documentElement.scrollHeight')}")

    def picture(self, file):
        png = self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(png))

    def step(self, argument):
        verb, colon, rest = argument.partition(": ")
        verbs = {"wait": self.wait, "click": self.click, "drag": self.drag, "key": self.key,
                 "picture": self.picture, "size": self.size,
                 "hover": lambda words: self.mouse("mouseMoved", self.middle(words)),
                 "shell": lambda words: subprocess.run(words, shell=True, check=True),
                 "type": lambda words: self.call("Input.insertText", text=words),
                 "script": lambda file: self.evaluate(open(file, encoding="utf-8").read() + ";0"),
                 "media": lambda words: self.call("Emulation.setEmulatedMedia", features=[
                     {"name": "prefers-color-scheme", "value": words}])}
        if argument.startswith(("http://", "https://", "about:")):
            self.call("Page.navigate", url=argument)
        elif colon and verb in verbs:
            verbs[verb](rest)
        else:
            print(json.dumps(self.evaluate(argument), ensure_ascii=False), flush=True)

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = Page(profile)
        try:
            for argument in sys.argv[1:]:
                page.step(argument)
            if "SCREENSHOT" in os.environ:
                page.picture(os.environ["SCREENSHOT"])
        finally:
            page.close()
        for line in page.trouble:
            print(line, file=sys.stderr)
        return 1 if page.trouble else 0


sys.exit(main())
