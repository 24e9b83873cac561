"""A Chromium that is installed, driven by Playwright, which would otherwise download one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """Yield the headless Chromium at *path*; it ends with the block, and so does its profile."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path) as browser:
        yield browser


class Tab:
    """A tab. What a page in it reports, and every request it makes, is kept in ``errors`` and ``requests``."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, place: str = "") -> Page:
        """Load the file at *path*, forget what earlier pages did, and return the page."""
        self.page.goto("about:blank")
        self.errors.clear()
        self.requests.clear()
        self.page.goto(path.resolve().as_uri() + (f"#{place}" if place else ""))
        return self.page

    def _note(self, message: ConsoleMessage) -> None:
        self.errors.append(f"console.{message.type}: {message.text}")

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()
