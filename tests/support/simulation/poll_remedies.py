"""What protects groups whose commits are polled, each taken out: the simulation has to find that something is wrong."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.group_homes import Activity, Homes, homes
from simulation.finding import Remedy

_POLLED, _STATE = "offset_sync.ingest.polled_commits.", "offset_sync.state."
_poll, _since = CommitPoller.poll, ClusterOffsets.since_ms
_POLLS = frozenset({"polls"})


class _Always(dict[str, int]):
    """Says of every group that it answered then."""

    def __init__(self, at_ms: int) -> None:
        super().__init__()
        self._at_ms = at_ms

    def get(self, _group: Any, _absent: Any = None) -> Any:
        return self._at_ms

    def __contains__(self, _group: object) -> bool:
        return True

    def __getitem__(self, _group: str) -> int:
        return self._at_ms

    def values(self) -> Any:
        return [self._at_ms]


def _poll_as_if_all_had_answered(poller: Any) -> Any:
    found = _poll(poller)
    newest = max(poller._answered_ms.values(), default=-1)
    poller._answered_ms = _Always(newest)
    return found


def _dated_by_the_poll(activity: Activity, *times: Any) -> Homes:
    return homes(activity._replace(since_ms=activity.committed_ms), *times)


OF_POLLS_CLOSED = {
    "a commit is as old as the last answer of its own group": Remedy(
        _POLLS, ((_POLLED + "CommitPoller.poll", _poll_as_if_all_had_answered),)
    ),
    "a polled commit may have been made at any time of an interval": Remedy(
        _POLLS, ((_STATE + "group_homes.homes", _dated_by_the_poll),)
    ),
    "our own writes are known among what is polled": Remedy(
        _POLLS,
        ((_STATE + "own_writes.OwnWrites.claim", lambda _writes, key, _offset: np.zeros(len(key), np.bool_)),),
    ),
    "a write of ours that a poll does not find is over": Remedy(
        _POLLS, ((_STATE + "own_writes.OwnWrites.note_held", lambda *_held: None),)
    ),
    "a pending write is read back": Remedy(
        _POLLS,
        ((_STATE + "own_writes.OwnWrites.is_pending", lambda _writes, key, _offset: np.zeros(len(key), np.bool_)),),
    ),
    "nothing is written while coordinators are asked": Remedy(
        _POLLS, (("simulation.polls._NotWriting", lambda *_driver: nullcontext()),)
    ),
    "what is gone is a deletion": Remedy(_POLLS, ((_POLLED + "CommitPoller._held", lambda _poller: {}),)),
    "polls are newer than the log that was read before": Remedy(
        _POLLS,
        (
            (
                _STATE + "committed_offsets.ClusterOffsets._is_newer",
                lambda offsets, records: records.log_offset > offsets.columns["log_offset"][records.key],
            ),
        ),
    ),
    "a history of both is in the order of their times": Remedy(
        _POLLS,
        (
            (
                _STATE + "commit_log_incarnations.Places._is_polled",
                lambda _places, rows: np.zeros(rows.num_rows, np.bool_),
            ),
        ),
    ),
    "what polls say of times is not said of a clock": Remedy(_POLLS, ((_STATE + "restore.POLLED", None),)),
    "all groups have to answer at first": Remedy(_POLLS, ((_POLLED + "TransientError", KeyError),)),
    "what recorded polls prove": Remedy(
        _POLLS, ((_POLLED + "CommitPoller._recorded_ms", lambda poller: _Always(poller._state.now_ms())),)
    ),
}
