#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads pages in a headless Chromium, as a telephone, a desk and a printer show them.

Usage: browser.py PAGE FOLDER [PAGE FOLDER]... For each page writes FOLDER/{phone,desk,dark}.png and FOLDER/print.pdf, and prints
a line with a JSON object:
requests: addresses that the page asked for; errors: what the console, a script or the log of the browser complained about;
phone, desk: {view, document}, widths in px. The browser runs in a network namespace without interfaces, and is driven through
pipes (DevTools protocol, --remote-debugging-pipe: messages end with a NUL)."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

VIEWS = {"phone": (360, 740, 2), "desk": (1280, 900, 1)}
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
LIMIT_S = 60  # for a page


class Browser:
    def __init__(self, profile, limit_s):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = ["unshare", "--net", "sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh", "chromium", "--headless",
                   "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                   "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(["timeout", str(limit_s)] + command, pass_fds=(theirs_in, theirs_out),
                                        stdout=subprocess.DEVNULL, stderr=sys.stderr)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.session, self.events, self.number, self.rest = None, [], 0, b""

    def open_tab(self):
        self.events = []
        self.tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.tab, flatten=True)["sessionId"]

    def close_tab(self):
        self.session = None
        self.call("Target.closeTarget", targetId=self.tab)

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.input.fileno(), 1 << 20)
            if not more:
                sys.exit("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.output.write(json.dumps(message).encode() + b"\0")
        self.output.flush()
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def named(self, *methods):
        return [event["params"] for event in self.events if event.get("method") in methods]


def width(browser, expression):
    return browser.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]


def show(browser, view):
    wide, high, scale = VIEWS[view]
    browser.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=scale, mobile=view == "phone")


def take(browser, path):
    picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(picture["data"]))


def media(browser, scheme):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def look(browser, page, folder):
    for domain in ("Network", "Log", "Runtime", "Page"):
        browser.call(f"{domain}.enable")
    show(browser, "phone")
    media(browser, "light")
    browser.call("Page.navigate", url=page.resolve().as_uri())
    browser.wait("Page.loadEventFired")
    found = {}
    for view in VIEWS:
        show(browser, view)
        found[view] = {"view": VIEWS[view][0], "document": width(browser, "document.documentElement.scrollWidth")}
        take(browser, folder / f"{view}.png")
    media(browser, "dark")
    take(browser, folder / "dark.png")
    pdf = browser.call("Page.printToPDF", printBackground=False)
    (folder / "print.pdf").write_bytes(base64.b64decode(pdf["data"]))
    found["requests"] = [event["request"]["url"] for event in browser.named("Network.requestWillBeSent")]
    found["errors"] = browser.named(*COMPLAINTS)
    return found


def main():
    paths = [pathlib.Path(argument) for argument in sys.argv[1:]]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile, LIMIT_S * len(paths) // 2)
        for page, folder in zip(paths[::2], paths[1::2]):
            folder.mkdir(parents=True, exist_ok=True)
            browser.open_tab()
            print(json.dumps(look(browser, page, folder)), flush=True)
            browser.close_tab()
        browser.call("Browser.close")
        browser.process.wait()


if __name__ == "__main__":
    main()
