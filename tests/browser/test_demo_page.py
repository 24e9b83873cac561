"""The status page of a real demo, see ``tests/golden/take_demo.py``, in a real browser."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from offset_sync.status.render.page import render_page, write_page
from tools.chromium import Browser

TAKEN = Path(__file__).parents[1] / "golden" / "demo"
NAMES = "[...document.querySelectorAll('#rows > .row > .head .name')].map((each) => each.textContent)"


def test_the_demos_groups_pairs_and_numbers_are_on_its_page(browser: Browser, tmp_path: Path) -> None:
    status, drift = (pq.read_table(TAKEN / f"{name}.parquet") for name in ("sync_status", "sync_drift"))
    rows = status.to_pylist()
    write_page(tmp_path / "status.html", render_page(status, drift, reported_at=rows[0]["reported_at"]))
    browser.open(tmp_path / "status.html")
    browser.wait_for("document.querySelectorAll('#convergence .main-svg').length > 0")
    assert set(browser.ask(NAMES)) == {row["group_id"] for row in rows}
    pairs = browser.ask("document.getElementById('pairs').textContent")
    by_pair = Counter((row["source_cluster"], row["target_cluster"]) for row in rows)
    in_sync = Counter((row["source_cluster"], row["target_cluster"]) for row in rows if row["status"] == "InSync")
    for (source, target), count in by_pair.items():
        assert f"{source} → {target}" in pairs
        assert f"{in_sync[source, target]} of {count} partitions" in pairs
    browser.ask("document.querySelector('#rows .head').click()")
    opened = browser.ask("document.querySelector('.row.open .details').textContent")
    first = browser.ask(NAMES)[0]
    assert all(row["topic"] in opened for row in rows if row["group_id"] == first)
    assert browser.errors == []
