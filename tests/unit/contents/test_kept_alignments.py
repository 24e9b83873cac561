"""Where to go on from is kept as it is, and what nobody can read is no place to go on from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.order import Anchors, OrderWatch
from offset_sync.contents.alignment.reach import Counts, Reach
from offset_sync.contents.known_logs import Kept, KeptAlignments
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.files import Files

LOG = ClusterPartition("dc2", "orders", 3)
STATE = AlignerState(
    70,
    Reach(5, 60, 7, ((1_000, 50), (2_000, 60)), (58, 59)),
    1_234,
    Anchors(np.array([69]), np.array([60])),
    OrderWatch(np.array([10, 20]), np.array([68]), np.array([61])),
    Counts(100, 90, 1),
)


def file(folder: Path) -> KeptAlignments:
    return KeptAlignments(Files(), str(folder / "checkpoints"))


def test_all_of_a_state_comes_back(tmp_path: Path) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    [(log, kept)] = file(tmp_path).read().items()
    assert (log, kept.lives_ms) == (LOG, 99)
    found = kept.state
    assert (found.frontier, found.reach, found.complete_ms, found.counts) == (
        STATE.frontier,
        STATE.reach,
        STATE.complete_ms,
        STATE.counts,
    )
    for name in ("broken", "open_at", "open_before"):
        assert getattr(found.watch, name).tolist() == getattr(STATE.watch, name).tolist()
    assert (found.anchor.offset.tolist(), found.anchor.original.tolist()) == ([69], [60])


def test_what_was_kept_last_counts(tmp_path: Path) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    file(tmp_path).write({})
    assert file(tmp_path).read() == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "logs": []}', '{"version": 1, "logs": [[1]]}'])
def test_what_nobody_can_read_is_nothing(tmp_path: Path, text: str) -> None:
    file(tmp_path).write({LOG: Kept(STATE, 99)})
    Path(file(tmp_path).path).write_text(text)
    assert file(tmp_path).read() == {}


def test_nothing_is_kept_before_anything_was(tmp_path: Path) -> None:
    assert file(tmp_path).read() == {}
