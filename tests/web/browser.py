"""Headless Chromium, driven over its debugging protocol."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

from websocket import WebSocket

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-port=0", "--hide-scrollbars", "--mute-audio"]
START_S = 300
WAIT_S = 300


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="otolith-chromium-")
        self.process = subprocess.Popen([find(), *FLAGS, f"--user-data-dir={self.folder}", "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.port = self._wait_for_port()

    def _wait_for_port(self):
        path, end = os.path.join(self.folder, "DevToolsActivePort"), time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(path, encoding="ascii") as file:
                    lines = file.read().split()
                if len(lines) == 2:
                    return int(lines[0])
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("chromium did not start")

    def open(self, url, width=1440, height=900):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request, timeout=300))
        return Page(self.port, target, url, width, height)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    def __init__(self, port, target, url, width, height):
        path = target["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self.socket = WebSocket("127.0.0.1", port, path, protocol=None, timeout_s=WAIT_S)
        self.id = target["id"]
        self.port = port
        self.number = 0
        self.errors = []  # exceptions and refused loads that the page reported
        for domain in ("Page", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)

    def call(self, method, **params):
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            self._note(message)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result", {})

    def _note(self, message):
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def run(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait(self, expression, seconds=WAIT_S):
        """Waits until a JavaScript expression is true; returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(f"(() => {{ try {{ const value = {expression}; return value instanceof Node ? true : value; }} catch (error) {{ return false; }} }})()")
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {expression}\nerrors of the page: {self.errors}")
            time.sleep(0.05)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x0, y0, x1, y1, modifiers=0):
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1, modifiers=modifiers)
        for part in (0.3, 0.7, 1.0):
            self.mouse("mouseMoved", x0 + part * (x1 - x0), y0 + part * (y1 - y0), button="left", modifiers=modifiers)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1, modifiers=modifiers)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.socket.close()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/close/{self.id}", timeout=300)
