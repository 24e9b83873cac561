"""What protects the homes of groups, each taken out: with it the simulation has to find that something is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.group_homes import Activity, Homes, homes
from offset_sync.state.own_writes import OwnWrites
from simulation.finding import Remedy

_STATE = "offset_sync.state."
_begin = OwnWrites.begin


def _begin_and_keep(writes: Any, key: NDArray[np.intp], offset: NDArray[np.int64]) -> None:
    vars(writes).setdefault("ever", set()).update(zip(key.tolist(), offset.tolist(), strict=True))
    _begin(writes, key, offset)


def _claim_whatever_was_written(writes: Any, key: NDArray[np.intp], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    ever = vars(writes).get("ever", set())
    return np.array([pair in ever for pair in zip(key.tolist(), offset.tolist(), strict=True)], np.bool_)


def _newest_wins(activity: Activity, now_ms: int, _silence_ms: int, _uncertain_ms: Any = None) -> Homes:
    return homes(activity, now_ms, 0)


def _never_contested(activity: Activity, now_ms: int, silence_ms: int, _uncertain_ms: Any = None) -> Homes:
    found = homes(activity, now_ms, silence_ms)
    return found._replace(is_contested=np.zeros(len(found.home), np.bool_))


OF_HOMES_CLOSED = {
    "a second record of our value is the group's own": Remedy(
        frozenset({"moves"}),
        (
            (_STATE + "own_writes.OwnWrites.begin", _begin_and_keep),
            (_STATE + "own_writes.OwnWrites.claim", _claim_whatever_was_written),
        ),
        seed=1,
    ),
    "our own commits are known": Remedy(
        frozenset({"moves"}),
        ((_STATE + "own_writes.OwnWrites.claim", lambda _writes, key, _offset: np.zeros(len(key), np.bool_)),),
    ),
    "records of different partitions have no order by offset": Remedy(
        frozenset({"coordinators"}),
        (
            (
                _STATE + "committed_offsets.ClusterOffsets._is_newer",
                lambda offsets, records: records.log_offset > offsets.columns["log_offset"][records.key],
            ),
        ),
        seed=35,
    ),
    "clusters' clocks are not believed": Remedy(
        frozenset({"skewed"}),
        ((_STATE + "cluster_clock.ClusterClock.made_ms", lambda _clock, timestamp_ms, _read: timestamp_ms),),
    ),
    "what a clock was measured to be counts for a backlog": Remedy(
        frozenset({"skewed"}), ((_STATE + "cluster_clock.ClusterClock.ahead_ms", None),), seed=1
    ),
    "a home that is not silent stays the home": Remedy(
        frozenset({"twins"}), ((_STATE + "group_homes.homes", _newest_wins),), seed=1
    ),
    "two clusters that are active have no home": Remedy(
        frozenset({"twins"}), ((_STATE + "group_homes.homes", _never_contested),), seed=1
    ),
    "times that are near each other have no order": Remedy(
        frozenset({"twins"}), ((_STATE + "group_homes.UNCERTAIN_MS", -1),), seed=1
    ),
    "members count as active": Remedy(
        frozenset({"tools"}),
        ((_STATE + "group_homes.GroupHomes.note_members", lambda *_told: None),),
        seed=2,
    ),
    "cutover decides": Remedy(
        frozenset({"moves"}), ((_STATE + "group_homes.GroupHomes.note_moves", lambda _homes, _moves: None),), seed=14
    ),
    "what we wrote at a home raises nothing elsewhere": Remedy(
        frozenset({"retention", "reset", "late_index", "drop", "resend"}),
        (("offset_sync.sync.write_plan._is_raised_by_ours", lambda _mine, key, *_told: np.zeros(len(key), np.bool_)),),
        seed=330,
        steps=600,
    ),
    "at home what the coordinator holds counts": Remedy(
        frozenset({"moves"}),
        (
            (
                _STATE + "committed_offsets.ClusterOffsets.position",
                lambda offsets, rows: (offsets.columns["genuine_offset"][rows], offsets.columns["genuine_at_ms"][rows]),
            ),
        ),
        seed=554,
    ),
}
