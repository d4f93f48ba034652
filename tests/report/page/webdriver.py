"""A browser without a window, driven by ChromeDriver over HTTP on this machine (W3C WebDriver).
Only Python's own library."""
import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the standard gives references


def programs():
    """ChromeDriver and Chromium, None for what is not installed."""
    return shutil.which("chromedriver"), shutil.which("chromium")


class Browser:
    def __init__(self, width=1280, height=900):
        driver, chromium = programs()
        self.home = tempfile.mkdtemp(prefix="harness-browser-")
        environment = {**os.environ, "HOME": self.home, "XDG_CONFIG_HOME": self.home, "XDG_CACHE_HOME": self.home}
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment)
        self.session = None
        try:
            self.port = self._wait_for_port()
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         "--disable-dev-shm-usage", f"--user-data-dir={self.home}/profile",
                         f"--window-size={width},{height}"]
            options = {"args": arguments, "binary": chromium}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def _wait_for_port(self):
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("chromedriver did not start")

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message']}")
        return value

    def _in_session(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self._in_session("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the body of a JavaScript function returns."""
        return self._in_session("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script, *arguments, seconds=30):
        """Until `script` returns something true, which is returned."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value or time.monotonic() > end:
                return value
            time.sleep(0.05)

    def find(self, selector):
        return self._in_session("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._in_session("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self._in_session("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def devtools(self, command, **parameters):
        return self._in_session("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self, kind):
        """What came since the last call: `browser` is the console, `performance` has the requests."""
        return self._in_session("POST", "/se/log", {"type": kind})

    def screenshot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self._in_session("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self._in_session("DELETE", "")
        finally:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
