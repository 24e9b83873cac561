"""The status page in a real browser: hostile names, search, drill-down, a phone, ten thousand groups."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.model.text import visible
from offset_sync.status.page import render_page
from offset_sync.status.report import Report
from tools.chromium import Tab

CHANCE = random.Random(21)
GROUPS = [*(f"billing-{n}" for n in range(30)), *HOSTILE_NAMES]
TOPICS = ["orders", "payments", *HOSTILE_NAMES[:6]]
PAIRS = [("dc1", "dc2"), ("dc2", "dc1")]
STATUS = random_status(CHANCE, GROUPS, TOPICS, partitions=3, pairs=PAIRS)
DRIFT = random_drift(CHANCE, ["billing-3", HOSTILE_NAMES[0]], PAIRS, broken=["billing-3", HOSTILE_NAMES[0]])
ROLLED = Report(STATUS, DRIFT, REPORTED_AT).document
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True}


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "status.html"
    path.write_text(render_page(Report(STATUS, DRIFT, REPORTED_AT)), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _no_page_makes_an_error_or_a_request(tab: Tab) -> Iterator[None]:
    yield
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:,", "about:"))] == []
    assert sum(url.startswith("file:") for url in tab.requests) == 1
    assert "pwned" not in tab.page.title()


def names(page: Page) -> list[str]:
    """Return the names of the groups or topics that are shown."""
    return page.locator("#rows > .row > .head .name").all_text_contents()


def search(page: Page, text: str) -> list[str]:
    page.fill("#search", text)
    return names(page)


def show_all(page: Page) -> None:
    while page.is_visible("#more"):
        page.click("#more")


def wait_for_curves(page: Page) -> None:
    page.wait_for_selector("#convergence .main-svg")


def test_every_group_is_there_under_its_visible_name_worst_first(tab: Tab, html: Path) -> None:
    page = tab.open(html)
    show_all(page)
    assert names(page) == [visible(name) for name in (row["group_id"] for row in ROLLED["groups"])]
    assert page.locator("#rows :is(script, img, svg, a)").count() == 0
    pairs = page.locator("#pairs").text_content()
    for pair in ROLLED["pairs"]:
        assert f"{pair['source_cluster']} → {pair['target_cluster']}" in pairs
        assert f"{pair['statuses']['InSync']} of {pair['partitions']} partitions" in pairs


def test_search_finds_a_group_and_opening_it_shows_its_partitions(tab: Tab, html: Path) -> None:
    page = tab.open(html)
    assert set(search(page, "Billing-1")) == {name for name in GROUPS if "billing-1" in name}
    assert search(page, "billing-1")[0] == "billing-1"
    page.click("#rows .head")
    source, _ = page.locator("#rows .where").first.text_content().split(" → ")
    rows = [row for row in STATUS if (row["group_id"], row["source_cluster"]) == ("billing-1", source)]
    shown = page.locator(".topic .of-source").all_text_contents()
    offsets = [f"{row['source_offset']:,}" for row in sorted(rows, key=itemgetter("topic", "partition"))]
    assert [text for text in shown if text != "source"] == offsets


def test_every_hostile_group_opens_and_is_only_text(tab: Tab, html: Path) -> None:
    pair = " → ".join(PAIRS[0])
    page = tab.open(html)
    wait_for_curves(page)
    opened = page.locator(".row.open > .head .name")
    for name in HOSTILE_NAMES:
        place = urlencode({"q": visible(name), "open": f"{visible(name)}\n{pair}"})
        page.evaluate("place => location.hash = place", place)
        expect(opened).to_have_text([visible(name)])
        assert opened.all_text_contents() == [visible(name)]
        assert page.locator(".row.open .topic tbody tr").count() >= 3


def test_filters_count_what_they_show_and_are_in_the_address(tab: Tab, html: Path) -> None:
    page = tab.open(html)
    for move in ("now", "at_cost", "no"):
        number = int(page.locator(f"[data-move={move}] b").text_content())
        page.click(f"[data-move={move}]")
        show_all(page)
        assert len(names(page)) == number == sum(row["move"] == move for row in ROLLED["groups"])
    page.click("[data-word=Stalled]")
    assert page.url.endswith("#status=Stalled&move=no")


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_on_a_phone_nothing_has_to_be_moved_sideways(tab: Tab, html: Path) -> None:
    page = tab.open(html, urlencode({"q": "x" * 249}))
    wait_for_curves(page)
    page.click("#rows .head")
    for place in ("", "長い名前", "<", "billing-3"):
        search(page, place)
        page.click("#rows .head")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.locator("#search").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 740


def test_an_old_page_says_so_and_a_new_one_does_not(tab: Tab, tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    for age, is_old in ((timedelta(), False), (timedelta(hours=2), True), (timedelta(hours=-2), True)):
        (tmp_path / "status.html").write_text(render_page(Report(STATUS, DRIFT, now - age)), encoding="utf-8")
        page = tab.open(tmp_path / "status.html")
        assert page.is_visible("#old") == is_old
    said = page.locator("#old").text_content()
    assert re.match(r"The clock of this computer is (2 h|1 h 59 min) behind", said)


def test_a_script_that_does_not_belong_to_the_page_is_not_run(tab: Tab, html: Path, tmp_path: Path) -> None:
    pwn = "document.title = 'pwned'"
    planted = f'<script>{pwn}</script><img src=http://127.0.0.1:9/x onerror="{pwn}">'
    (tmp_path / "planted.html").write_text(html.read_text().replace("<main>", f"{planted}<main>"))
    tab.open(tmp_path / "planted.html")
    refused = [error for error in tab.errors if "Content Security Policy" in error]
    assert len(refused) >= 2
    assert tab.errors == refused
    tab.errors.clear()
    tab.requests[:] = [url for url in tab.requests if not url.startswith("http://127.0.0.1:9/")]


def test_ten_thousand_groups_answer_at_once(tab: Tab, tmp_path: Path) -> None:
    status = random_status(CHANCE, [f"team-{n % 97}.service-{n}" for n in range(10_000)], partitions=5)
    path = tmp_path / "large.html"
    path.write_text(render_page(Report(status, DRIFT, REPORTED_AT)), encoding="utf-8")
    started = time.monotonic()
    page = tab.open(path)
    wait_for_curves(page)
    assert time.monotonic() - started < 20
    started = time.monotonic()
    assert "team-3.service-9994" in search(page, "service-9994")
    assert time.monotonic() - started < 2
    assert page.locator("#rows > .row").count() == 1
