"""The picture of the status page in README.md: a report as a day brings it, in a headless Chromium."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from PIL import Image

from generators.reports import REPORTED_AT, random_drift, random_status
from offset_sync.status.page import render_page
from offset_sync.status.report import Report
from tools.chromium import find_browser, running_browser

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "status-page.png"
TEAMS = ("billing", "checkout", "fraud", "ledger", "mailer", "pricing", "search", "stock")
KINDS = ("api", "audit", "export", "projector", "sink")
WEIGHTS = {"InSync": 80, "Mirroring": 10, "TargetActive": 2, "Behind": 6, "Stalled": 2}
PAIRS = (("dc1", "dc2"), ("dc2", "dc1"))
SIZE = (1280, 1120)
COLOURS = 96


def later(rows: list[dict[str, Any]], moved: timedelta) -> list[dict[str, Any]]:
    """Return *rows* with all times later by *moved*: the page has to be fresh when it is drawn."""
    return [{n: each + moved if isinstance(each, datetime) else each for n, each in row.items()} for row in rows]


def main() -> None:
    chance = random.Random(12)
    moved = datetime.now(timezone.utc) - timedelta(seconds=4) - REPORTED_AT
    names = [f"{team}.{kind}" for team in TEAMS for kind in KINDS]
    chance.shuffle(names)
    topics = ["orders", "payments", "audit.log", "stock.moves"]
    parts = [
        random_status(chance, names[:24], topics, 6, PAIRS[:1], WEIGHTS),
        random_status(chance, names[24:], topics, 6, PAIRS[1:], WEIGHTS),
    ]
    stuck = Report(parts[0], random_drift(chance, []), REPORTED_AT).document["groups"][0]["group_id"]
    drifts = [
        random_drift(chance, [stuck], PAIRS[:1], broken=[None, stuck]),
        random_drift(chance, [], PAIRS[1:]),
    ]
    drift = pa.Table.from_pylist(later(pa.concat_tables(drifts).to_pylist(), moved), drifts[0].schema)
    status = later([*parts[0], *parts[1]], moved)
    html = render_page(Report(status, drift, REPORTED_AT + moved))
    path = find_browser()
    if path is None:
        raise SystemExit("no Chromium; apt-get install chromium")
    with TemporaryDirectory() as folder, running_browser(path) as browser:
        page = Path(folder) / "status.html"
        page.write_text(html, encoding="utf-8")
        tab = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, locale="en-GB")
        tab.goto(page.as_uri())
        tab.wait_for_selector("#convergence .main-svg")
        picture = Image.open(BytesIO(tab.screenshot())).convert("RGB")
    picture.quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
