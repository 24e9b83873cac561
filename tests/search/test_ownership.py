"""Every short history of one group: nothing is written above its position, and quiet leads to the exact offsets.

``make search`` goes deeper. Each protection that is taken out has to be found missing.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from offset_sync.model.values import Outcome
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.group_homes import last_active
from offset_sync.state.own_writes import OwnWrites
from protections.entry import false_for, nothing, true_for
from search.explore import explore
from search.rows import Shape

TWO, LATE_START, PARTITIONS, THREE = Shape(), Shape((1, 0), end=2), Shape(partitions=2), Shape((0, 0, 0))
_WRITES = "offset_sync.state.own_writes.OwnWrites."
_PLAN = "offset_sync.sync.write_plan."
_ACKNOWLEDGE = "offset_sync.state.committed_offsets.ClusterOffsets.acknowledge"
_acknowledge = ClusterOffsets.acknowledge


def acknowledge_what_was_read(offsets: ClusterOffsets, key: NDArray[np.intp], *told: Any) -> None:
    with patch.object(OwnWrites, "is_unread", true_for(1)):
        _acknowledge(offsets, key, *told)


def ignore_moves(activity: Any) -> Any:
    nowhere = np.full_like(activity.moved_to, -1)
    return last_active(activity._replace(moved_ms=np.full_like(activity.moved_ms, -1), moved_to=nowhere))


def decide_unread(write: Any, actual: Any) -> Outcome | None:
    return Outcome.UNCHANGED if actual is not None and actual.offset == write.offset else None


OUT: dict[str, tuple[str, object, Shape, int]] = {
    "a refused write is over": (_WRITES + "abort", nothing, TWO, 5),
    "a commit after our write is not overwritten by its answer": (_ACKNOWLEDGE, acknowledge_what_was_read, TWO, 5),
    "moves count": ("offset_sync.state.group_homes.last_active", ignore_moves, PARTITIONS, 5),
    "a newer commit at the target stays": (_PLAN + "_is_newer_word", false_for(2), TWO, 6),
    "a step back is followed": (_PLAN + "_has_gone_back", false_for(2), TWO, 4),
    "an unread commit is left alone": ("search.histories.decide", decide_unread, TWO, 5),
}


@pytest.mark.parametrize(("shape", "depth"), [(TWO, 5), (LATE_START, 5), (PARTITIONS, 4), (THREE, 4)])
def test_every_short_history_is_right(shape: Shape, depth: int) -> None:
    result = explore(shape, depth)
    assert (result.wrong, result.story, result.depth) == ("", [], depth)


@pytest.mark.parametrize("name", OUT)
def test_a_protection_that_is_missing_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, instead, shape, depth = OUT[name]
    monkeypatch.setattr(place, instead)
    assert explore(shape, depth).wrong
