"""A headless Chromium, spoken to in its DevTools protocol over two pipes: no driver, no port, no library."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--force-color-profile=srgb", "--lang=en-GB", "--remote-debugging-pipe",
)  # fmt: skip


def find_browser() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab. Every error it reports, request it makes and line it logs is kept in ``errors`` and ``requests``."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, place: str = "") -> None:
        """Load the file at *path*, wait until it has loaded, and forget what earlier pages did."""
        self.call("Page.navigate", url="about:blank")
        for kept in (self.errors, self.requests):
            kept.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + (f"#{place}" if place else ""))
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def ask(self, script: str) -> Any:
        """Return the value of the expression *script* in the page; raise AssertionError where it throws."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str, seconds: float = 30) -> None:
        """Return when *script* is true in the page; raise TimeoutError when that takes too long."""
        deadline = time.monotonic() + seconds
        while not self.ask(script):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds} s in vain for: {script}")
            time.sleep(0.05)

    def show(self, width: int, height: int, *, scheme: str = "light", media: str = "screen") -> None:
        """Give the tab this size in CSS pixels and these preferences."""
        phone = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **phone)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def picture(self) -> bytes:
        """Return what the tab shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a DevTools *method*; raise RuntimeError for its error."""
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": number, "method": method, "params": arguments, **session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer.get("method", ""), answer.get("params", {}))

    def _read(self, seconds: float = 60) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._answers], [], [], seconds)[0]:
                raise TimeoutError(f"the browser says nothing for {seconds} s")
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise EOFError("the browser has ended")
            self._unread += chunk
        message, _, self._unread = self._unread.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: str, facts: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(facts["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.errors.append(f"console.{facts['type']}: {json.dumps(facts['args'])}")
        elif event == "Log.entryAdded":
            self.errors.append(f"log: {json.dumps(facts['entry'])}")
        elif event == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {facts['message']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """Yield a tab of the Chromium at *path*; it ends with the block, and so does its profile."""
    (read_commands, commands), (answers, write_answers) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # DevTools reads from descriptor 3 and writes to 4, so the ends that it gets are put there.
        script = f'exec 3<&{read_commands} 4>&{write_answers}; exec "$0" "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, path, *_OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        try:
            yield Browser(commands, answers)
        finally:
            process.terminate()
            process.wait(20)
            os.close(commands)
            os.close(answers)
