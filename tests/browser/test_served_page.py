"""The status page over HTTP in a real browser: a newer report comes by itself, and filter and place stay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest
from playwright.sync_api import Error, Page

from generators.reports import REPORTED_AT, random_drift, random_status
from offset_sync.config import Metrics
from offset_sync.jobs.endpoint import PageServer, served
from offset_sync.status.page import render_page
from offset_sync.status.report import Report
from tools.chromium import Tab

GROUPS = [f"billing-{number:02}" for number in range(60)]


def report(*groups: str) -> Report:
    chance = random.Random(3)
    return Report(random_status(chance, groups), random_drift(chance, groups[:1]), REPORTED_AT)


@pytest.fixture
def pages() -> Iterator[tuple[PageServer, int]]:
    server = PageServer(is_open=False)
    with served("report_status", Metrics(address="127.0.0.1", report_status_port=0), [], server) as port:
        assert port is not None
        yield server, port


def put(server: PageServer, *groups: str) -> None:
    found = report(*groups)
    server.put(found, render_page(found, reload_every=timedelta(seconds=1)))


def until(page: Page, holds: str) -> None:
    """Wait, asking anew: a page with this policy evaluates no string by itself, and a reload may come between."""
    is_so = False
    while not is_so:
        with suppress(Error):
            is_so = page.evaluate(holds)
        page.wait_for_timeout(50)


def test_a_newer_report_comes_by_itself_and_what_was_looked_for_stays(tab: Tab, pages: tuple[PageServer, int]) -> None:
    server, port = pages
    page = tab.page
    page.goto(f"http://localhost:{port}/#q=billing-0")
    page.wait_for_selector("text=report_status makes its first report")
    put(server, *GROUPS, "shipping")
    page.wait_for_selector("#rows > .row")
    until(page, "(scrollTo(0, 100), scrollY === 100)")
    put(server, "billing-0-new", *GROUPS, "shipping")
    page.wait_for_selector("#rows > .row > .head .name:text-is('billing-0-new')")
    until(page, "!document.querySelector('#rows').textContent.includes('shipping')")
    until(page, "document.querySelector('#search').value === 'billing-0' && scrollY === 100")
    # The answer before the first report is an error to a browser.
    assert [each for each in tab.errors if "503" not in each] == []
    assert {url.split("#")[0] for url in tab.requests if not url.startswith("data:,")} == {f"http://localhost:{port}/"}
