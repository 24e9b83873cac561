"""The status page of a real demo, see ``tests/golden/take_demo.py``, in a real browser."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from offset_sync.status.page import render_page, write_page
from offset_sync.status.report import Report
from offset_sync.tables.catalog import SYNC_STATUS
from tools.chromium import Tab

TAKEN = Path(__file__).parents[1] / "golden" / "demo"


def test_the_demos_groups_pairs_and_numbers_are_on_its_page(tab: Tab, tmp_path: Path) -> None:
    status, drift = (pq.read_table(TAKEN / f"{name}.parquet") for name in ("sync_status", "sync_drift"))
    # The demo was taken when the table had fewer columns.
    status = pa.concat_tables([SYNC_STATUS.arrow_schema.empty_table(), status], promote_options="default")
    rows = status.to_pylist()
    write_page(tmp_path / "status.html", render_page(Report(status, drift, rows[0]["reported_at"])))
    page = tab.open(tmp_path / "status.html")
    page.wait_for_selector("#convergence .main-svg")
    names = page.locator("#rows > .row > .head .name").all_text_contents()
    assert set(names) == {row["group_id"] for row in rows}
    pairs = page.locator("#pairs").text_content()
    by_pair = Counter((row["source_cluster"], row["target_cluster"]) for row in rows)
    in_sync = Counter((row["source_cluster"], row["target_cluster"]) for row in rows if row["status"] == "InSync")
    for (source, target), count in by_pair.items():
        assert f"{source} → {target}" in pairs
        assert f"{in_sync[source, target]} of {count} partitions" in pairs
    page.click("#rows .head")
    opened = page.locator(".row.open .details").text_content()
    assert all(row["topic"] in opened for row in rows if row["group_id"] == names[0])
    assert tab.errors == []
