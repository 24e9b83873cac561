"""One headless Chromium for all tests here, and a new tab for each; without one they are skipped, with the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools.chromium import NAMES, Tab, find_browser, running_browser

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PATIENCE_MS = 60_000
"""For a page on a machine that does much else."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))  # one browser for all of them


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed; apt-get install chromium")
    with running_browser(path) as browser:
        yield browser


@pytest.fixture
def tab(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Tab]:
    """A new tab as a desktop shows it, or as the parameter of the test says; the tests look for errors themselves."""
    with chromium.new_context(locale="en-GB", **getattr(request, "param", DESKTOP)) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield Tab(context.new_page())
