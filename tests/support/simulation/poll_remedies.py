"""What protects groups whose commits are polled, each taken out: the simulation has to find that something is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.state.group_homes import Activity, Homes, homes
from simulation.finding import Remedy

_POLLED, _STATE, _POLLS = "offset_sync.ingest.polled_commits.", "offset_sync.state.", frozenset({"polls"})
_poll = CommitPoller.poll


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


def _poll_as_if_all_had_answered(poller: Any) -> Any:
    began_ms, found = poller._state.now_ms(), _poll(poller)
    poller._answered_ms = _Always(began_ms)
    return found


def _dated_by_the_poll(activity: Activity, *times: Any) -> Homes:
    return homes(activity._replace(since_ms=activity.committed_ms), *times)


OF_POLLS_CLOSED = {
    "a polled commit is as old as the last answer of its own group": Remedy(
        _POLLS, ((_POLLED + "CommitPoller.poll", _poll_as_if_all_had_answered),), seed=15
    ),
    "a driver that starts knows of recorded polls only": Remedy(
        _POLLS, ((_POLLED + "CommitPoller._recorded_ms", lambda poller: _Always(poller._state.now_ms())),)
    ),
    "a polled commit may have been made at any time of an interval": Remedy(
        _POLLS, ((_STATE + "group_homes.homes", _dated_by_the_poll),), seed=5
    ),
    "our own writes are known among what is polled": Remedy(
        _POLLS,
        ((_STATE + "own_writes.OwnWrites.claim", lambda _writes, key, _offset: np.zeros(len(key), np.bool_)),),
    ),
    "what coordinators do not hold any more was deleted": Remedy(
        _POLLS, ((_POLLED + "CommitPoller._held", lambda _poller: {}),)
    ),
    "all groups have to answer at first": Remedy(_POLLS, ((_POLLED + "TransientError", KeyError),)),
    "polls and records of the log have no order by offset": Remedy(
        _POLLS,
        (
            (
                _STATE + "committed_offsets.ClusterOffsets._is_newer",
                lambda offsets, records: records.log_offset > offsets.columns["log_offset"][records.key],
            ),
        ),
    ),
    "a history of polls and of the log is in the order of its times": Remedy(
        _POLLS,
        (
            (
                _STATE + "commit_log_incarnations.Places._is_polled",
                lambda _places, rows: np.zeros(rows.num_rows, np.bool_),
            ),
        ),
        seed=6,
    ),
    "polls tell nothing of a cluster's clock": Remedy(_POLLS, ((_STATE + "restore.POLLED", -1_000),)),
}
