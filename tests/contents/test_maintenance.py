"""The next position is kept as it is, and unneeded fingerprints are removed, and no others.

They stay until the mirror cannot send their records again, and as long as any log of copies may go on with them.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECREATED
from offset_sync.tables.files import Files
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from offset_sync_contents.alignment.aligner import AlignerState
from offset_sync_contents.alignment.mirror import Counts, Reach
from offset_sync_contents.alignment.rules import Anchor
from offset_sync_contents.known_logs import Kept, KeptAlignments
from offset_sync_contents.maintenance import TABLES, needed_from, retire
from offset_sync_contents.table import RECORD_FINGERPRINTS

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
OLD, YOUNG = NOW - timedelta(hours=2), NOW - timedelta(minutes=30)
COPIES, FORMER = ClusterPartition("dc2", "dc1.orders", 0), ClusterPartition("dc1", "dc2.orders", 0)
"""By its stream, which is also what the cluster calls it; the other was recreated since it was aligned."""


def row(cluster: str, topic: str, start: int, read_at: datetime) -> dict[str, Any]:
    place = {"cluster": cluster, "topic": topic, "partition": 0, "start_offset": start, "length": 10}
    return place | {"offsets": None, "fingerprints": b"\0" * 80, "read_at": read_at}


ROWS = [
    row(cluster, topic, start, read_at)
    for cluster, topic in (("dc1", "orders"), ("dc2", "dc1.orders"), ("dc2", "orders"), ("dc1", "dc2.orders"))
    for start, read_at in ((0, OLD), (10, OLD), (20, YOUNG), (30, YOUNG))
]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    places = {"root": str(tmp_path / "tables"), "checkpoints": str(tmp_path / "checkpoints")}
    return config_of(["dc1", "dc2"], mirror={"names": "mm2"}, extensions={"contents": {}}, tables=places)


def left(tables: TableStore) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for each in tables.all_rows(RECORD_FINGERPRINTS).sort_by("start_offset").to_pylist():
        found.setdefault((each["cluster"], each["topic"]), []).append(each["start_offset"])
    return found


def test_what_is_needed_or_young_stays(config: Config) -> None:
    tables = TableStore(config.tables.root, names=config.names)
    plain = TableStore(config.tables.root)
    tables.create([*TABLES, LOG_INCARNATIONS])
    plain.append(RECORD_FINGERPRINTS, pa.Table.from_pylist(ROWS, RECORD_FINGERPRINTS.arrow_schema))
    state = AlignerState(40, Reach(0, 60, 15))
    states = {COPIES: Kept(state, 0), FORMER: Kept(state, 0), COPIES._replace(cluster="gone"): Kept(state, 0)}
    KeptAlignments(tables.files, config.tables.checkpoints).write(states)
    life = {**FORMER._asdict(), "topic_id": "2", "begins_at": 0, "reason": RECREATED, "noticed_at": OLD}
    tables.append(LOG_INCARNATIONS, pa.Table.from_pylist([life], LOG_INCARNATIONS.arrow_schema))
    maintainer = Maintainer(tables, timedelta(hours=2))
    maintainer.prepare(RECORD_FINGERPRINTS)
    assert retire(config, tables, maintainer, NOW) == 3
    assert left(plain) == {
        ("dc1", "orders"): [10, 20, 30],  # from 15 on
        ("dc2", "dc1.orders"): [20, 30],  # all are decided, and two are young
        ("dc2", "orders"): [0, 10, 20, 30],  # with all of these it is aligned
        ("dc1", "dc2.orders"): [0, 10, 20, 30],  # not aligned yet in its present life
    }
    assert retire(config, tables, maintainer, NOW) == 0


ORIGINALS, DC2, DC3 = (ClusterPartition(alias, "orders", 0) for alias in ("dc1", "dc2", "dc3"))


def test_the_log_of_copies_that_is_furthest_back_counts() -> None:
    states = {DC2: AlignerState(70, Reach(0, 60, 40)), DC3: AlignerState(50, Reach(20, 45, 10))}
    found = needed_from([ORIGINALS, DC2, DC3], states, lambda _stream: "dc1")
    assert found == {ORIGINALS: 20, DC2: 70, DC3: 50}


def test_copies_that_are_not_aligned_yet_stay_and_so_do_all_of_their_originals() -> None:
    """A cluster that was away for long has copies of what others are through with."""
    states = {DC2: AlignerState(70, Reach(0, 60, 40))}
    assert needed_from([ORIGINALS, DC2, DC3], states, lambda _stream: "dc1") == {ORIGINALS: 0, DC2: 70}


LOG = ClusterPartition("dc2", "orders", 3)
STATE = AlignerState(
    70,
    Reach(5, 60, 7, ((1_000, 50), (2_000, 60)), (58, 59)),
    1_234,
    Anchor(69, 60),
    (10, 20),
    Counts(100, 90, 1),
)


def file(folder: Path) -> KeptAlignments:
    return KeptAlignments(Files(), str(folder / "checkpoints"))


def test_all_of_a_state_comes_back(tmp_path: Path) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    assert file(tmp_path).read() == {LOG: Kept(STATE, 99)}
    file(tmp_path).write({LOG: Kept(AlignerState(0, Reach(0)), 0)})
    assert file(tmp_path).read() == {LOG: Kept(AlignerState(0, Reach(0)), 0)}


def test_what_was_kept_last_counts(tmp_path: Path) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    file(tmp_path).write({})
    assert file(tmp_path).read() == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"logs": [[1]]}'])
def test_an_unreadable_row_counts_as_none(tmp_path: Path, text: str) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    Path(file(tmp_path).path).write_text(text)
    assert file(tmp_path).read() == {}
