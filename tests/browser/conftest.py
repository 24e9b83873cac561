"""One headless Chromium for all tests here; without one they are skipped, with the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.chromium import NAMES, Browser, find_browser, running_browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))  # one browser for all of them


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The only tab of a browser."""
    path = find_browser()
    if path is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed; apt-get install chromium")
    with running_browser(path) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The tab as a desktop shows it; the tests look for errors themselves."""
    chromium.show(1280, 900)
    return chromium
