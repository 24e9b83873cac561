"""The status page in a real browser: hostile names, search, drill-down, a phone, the dark, ten thousand groups."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pytest

from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.status.format import visible
from offset_sync.status.render.page import render_page, write_page
from offset_sync.status.rollup import GROUP, roll_up
from tools.chromium import Browser

CHANCE = random.Random(21)
GROUPS = [*(f"billing-{n}" for n in range(30)), *HOSTILE_NAMES]
TOPICS = ["orders", "payments", *HOSTILE_NAMES[:6]]
PAIRS = [("dc1", "dc2"), ("dc2", "dc1")]
STATUS = random_status(CHANCE, GROUPS, TOPICS, partitions=3, pairs=PAIRS)
DRIFT = random_drift(CHANCE, ["billing-3", HOSTILE_NAMES[0]], PAIRS, broken=["billing-3", HOSTILE_NAMES[0]])
NAMES = "[...document.querySelectorAll('#rows > .row > .head .name')].map((each) => each.textContent)"
HAS_CURVES = "document.querySelectorAll('#convergence .main-svg').length > 0"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "status.html"
    write_page(path, render_page(STATUS, DRIFT, reported_at=REPORTED_AT, jobs={"<i>x</i>": None}))
    return path


@pytest.fixture(autouse=True)
def _no_page_makes_an_error_or_a_request(browser: Browser) -> Iterator[None]:
    yield
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:,", "about:"))] == []
    assert sum(url.startswith("file:") for url in browser.requests) == 1
    assert "pwned" not in browser.ask("document.title")


def search(browser: Browser, text: str) -> list[str]:
    said = json.dumps(text)
    browser.ask(f"(() => {{ const box = document.getElementById('search'); box.value = {said}; "
                "box.dispatchEvent(new Event('input')); })()")  # fmt: skip
    found: list[str] = browser.ask(NAMES)
    return found


def show_all(browser: Browser) -> None:
    browser.ask("(() => { const more = document.getElementById('more'); while (!more.hidden) more.click(); })()")


def test_every_group_is_there_under_its_visible_name_worst_first(browser: Browser, page: Path) -> None:
    browser.open(page)
    show_all(browser)
    assert browser.ask(NAMES) == [visible(name) for name in roll_up(STATUS, GROUP)["group_id"].to_pylist()]
    assert browser.ask("document.querySelectorAll('#rows script, #rows img, #rows svg, #rows a').length") == 0


def test_search_finds_a_group_and_opening_it_shows_its_topics_and_partitions(browser: Browser, page: Path) -> None:
    browser.open(page)
    wanted = {name for name in GROUPS if "billing-1" in name}
    assert set(search(browser, "Billing-1")) == wanted
    assert search(browser, "billing-1")[0] == "billing-1"
    browser.ask("document.querySelector('#rows .head').click()")
    source, _ = browser.ask("document.querySelector('#rows .where').textContent").split(" → ")
    rows = [row for row in STATUS.to_pylist() if (row["group_id"], row["source_cluster"]) == ("billing-1", source)]
    mine = sorted(rows, key=itemgetter("topic", "partition"))
    topics = browser.ask("[...document.querySelectorAll('.topic h4 .name')].map((each) => each.textContent)")
    assert topics == [visible(topic) for topic in dict.fromkeys(row["topic"] for row in mine)]
    shown = browser.ask("[...document.querySelectorAll('.topic .of-source')].map((each) => each.textContent)")
    offsets = [f"{row['source_offset']:,}" for row in mine]
    assert [text for text in shown if text != "source"] == offsets


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_hostile_group_opens_and_is_only_text(browser: Browser, page: Path, name: str) -> None:
    pair = " → ".join(PAIRS[0])
    browser.open(page, urlencode({"q": visible(name), "open": f"{visible(name)}\n{pair}"}))
    browser.wait_for(HAS_CURVES)
    opened = browser.ask("[...document.querySelectorAll('.row.open > .head .name')].map((each) => each.textContent)")
    assert opened == [visible(name)]
    assert browser.ask("document.querySelectorAll('.row.open .topic tbody tr').length") >= 3


def test_a_topic_leads_to_its_groups_and_back(browser: Browser, page: Path) -> None:
    browser.open(page, urlencode({"view": "topics", "q": "orders"}))
    browser.ask("document.querySelector('#rows .head').click()")
    groups = browser.ask("document.querySelectorAll('.details .plainlist .name').length")
    assert groups > 0
    first = browser.ask("document.querySelector('.details .plainlist .name').textContent")
    browser.ask("document.querySelector('.details .plainlist .link').click()")
    assert browser.ask("document.querySelector('.row.open > .head .name').textContent") == first
    browser.ask("document.querySelector('.topic h4 .link').click()")
    assert browser.ask("document.querySelector('[data-view=topics]').getAttribute('aria-pressed')") == "true"


def test_filters_count_what_they_show_and_stand_in_the_address(browser: Browser, page: Path) -> None:
    browser.open(page)
    for move in ("now", "at_cost", "no"):
        number = int(browser.ask(f"document.querySelector('[data-move={move}] b').textContent"))
        browser.ask(f"document.querySelector('[data-move={move}]').click()")
        show_all(browser)
        expected = roll_up(STATUS, GROUP).filter(roll_up(STATUS, GROUP)["move"].to_numpy(zero_copy_only=False) == move)
        assert len(browser.ask(NAMES)) == number == expected.num_rows
    browser.ask("document.querySelector('[data-word=Stalled]').click()")
    assert browser.ask("location.hash") == "#status=Stalled&move=no"


def test_on_a_phone_nothing_has_to_be_moved_sideways(browser: Browser, page: Path) -> None:
    browser.show(360, 740)
    browser.open(page, urlencode({"q": "x" * 249}))
    browser.wait_for(HAS_CURVES)
    browser.ask("document.querySelector('#rows .head').click()")
    for place in ("", "長い名前", "<", "billing-3"):
        search(browser, place)
        browser.ask("document.querySelector('#rows .head').click()")
        assert browser.ask("document.documentElement.scrollWidth") == 360
    assert browser.ask("document.querySelector('#search').getBoundingClientRect().bottom") < 740


def test_the_dark_and_paper_have_their_own_colours_in_text_and_curves(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.wait_for(HAS_CURVES)
    colours = (
        "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.body).color, "
        "getComputedStyle(document.querySelector('#change text')).fill]"
    )
    found = {}
    for name, scheme, media in (("light", "light", "screen"), ("dark", "dark", "screen"), ("print", "dark", "print")):
        browser.show(1280, 900, scheme=scheme, media=media)
        found[name] = browser.ask(colours)
    assert found["light"] == found["print"] == ["rgb(255, 255, 255)", "rgb(22, 25, 29)", "rgb(22, 25, 29)"]
    assert found["dark"] == ["rgb(20, 23, 26)", "rgb(232, 234, 237)", "rgb(232, 234, 237)"]


def test_both_curves_of_a_pair_and_of_a_group_that_drifts_are_drawn(browser: Browser, page: Path) -> None:
    browser.open(page, urlencode({"q": "billing-3", "open": "billing-3\ndc1 → dc2"}))
    browser.wait_for(HAS_CURVES)
    lines = "document.querySelectorAll('{} .scatterlayer .trace').length"
    assert [browser.ask(lines.format(place)) for place in ("#change", "#windowed")] == [2, 2]
    assert browser.ask(lines.format(".row.open")) == 2


def test_a_first_report_is_shown_in_minutes_and_whole_records(browser: Browser, tmp_path: Path) -> None:
    of_pair = DRIFT.to_pylist()[0] | {"group_id": None, "change": 0, "windowed_change": 0}
    first = pa.Table.from_pylist([of_pair], DRIFT.schema)
    write_page(tmp_path / "status.html", render_page(STATUS, first, reported_at=datetime.now(timezone.utc), jobs={}))
    browser.open(tmp_path / "status.html")
    browser.wait_for(HAS_CURVES)
    ticks = "[...document.querySelectorAll('#change .{}tick text')].map(each => each.textContent)"
    assert [each for each in browser.ask(ticks.format("y")) if not re.fullmatch(r"[−]?\d", each)] == []
    assert [each for each in browser.ask(ticks.format("x")) if re.search(r":\d\d:\d\d\.", each)] == []


def test_an_old_page_says_so_and_a_new_one_does_not(browser: Browser, tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    notice = "document.getElementById('old')"
    for age, is_old in ((timedelta(), False), (timedelta(hours=2), True), (timedelta(hours=-2), True)):
        jobs = {"sync_offsets": now - timedelta(seconds=65)}
        write_page(tmp_path / "status.html", render_page(STATUS, DRIFT, reported_at=now - age, jobs=jobs))
        browser.open(tmp_path / "status.html")
        assert browser.ask(f"!{notice}.hidden") == is_old
    said = browser.ask(f"{notice}.textContent")
    assert re.match(r"The clock of this computer is (2 h|1 h 59 min) behind", said)
    assert "1 min" in browser.ask("document.getElementById('jobs').textContent")


def test_a_script_that_does_not_belong_to_the_page_is_not_run(browser: Browser, page: Path, tmp_path: Path) -> None:
    pwn = "document.title = 'pwned'"
    planted = f'<script>{pwn}</script><img src=http://127.0.0.1:9/x onerror="{pwn}">'
    (tmp_path / "planted.html").write_text(page.read_text().replace("<main>", f"{planted}<main>"))
    browser.open(tmp_path / "planted.html")
    refused = [error for error in browser.errors if "Content Security Policy" in error]
    assert len(refused) >= 2
    assert browser.errors == refused
    browser.errors.clear()
    browser.requests[:] = [url for url in browser.requests if not url.startswith("http://127.0.0.1:9/")]


def test_ten_thousand_groups_answer_at_once(browser: Browser, tmp_path: Path) -> None:
    status = random_status(CHANCE, [f"team-{n % 97}.service-{n}" for n in range(10_000)], partitions=5)
    path = tmp_path / "large.html"
    write_page(path, render_page(status, DRIFT, reported_at=REPORTED_AT))
    started = time.monotonic()
    browser.open(path)
    browser.wait_for(HAS_CURVES)
    assert time.monotonic() - started < 20
    started = time.monotonic()
    assert "team-3.service-9994" in search(browser, "service-9994")
    assert time.monotonic() - started < 2
    assert browser.ask("document.querySelectorAll('#rows > .row').length") == 1
