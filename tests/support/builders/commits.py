"""A committed of commits filled by hand, and what it knows afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fakes.clusters import CommitRecord, to_records
from fakes.reconciler_site import ORDERS
from offset_sync.state.committed_offsets import _NOTHING, CommittedOffsets


def commit(
    offset: int | None, at_ms: int = 0, *, group: str = "g", metadata: str = "", topic_id: str | None = None
) -> CommitRecord:
    """Return a commit of ``orders``, 0; an offset of None is a tombstone."""
    return CommitRecord(group, ORDERS, offset, at_ms, metadata, topic_id)


def take_in(committed: CommittedOffsets, *records: CommitRecord, first: int = 0, alias: str = "X") -> list[bool]:
    """Record the commits in the log of *alias* from offset *first* on; return which of them are our own."""
    key = committed.ids([(each.group_id, each.place.topic, each.place.partition) for each in records])
    taken_in = committed.clusters[alias].record(to_records(records, key.tolist(), first))
    is_own: list[bool] = taken_in.is_own.tolist()
    return is_own


def acknowledge(
    committed: CommittedOffsets, offset: int, at_ms: int = 0, *, group: str = "g", alias: str = "X"
) -> None:
    """Write at *alias*, which acknowledges it before its log brings the record."""
    key = committed.ids([(group, "orders", 0)])
    committed.clusters[alias].own_writes.begin(key, np.array([offset]), at_ms)
    committed.clusters[alias].acknowledge(key, np.array([offset]), at_ms)


def state(committed: CommittedOffsets, alias: str = "X") -> dict[tuple[str, str, int], dict[str, object]]:
    """Return all that is known of each key at *alias*."""
    commits, names = committed.clusters[alias], _NOTHING.keys() - {"captured_ms"}
    return {
        key: {name: commits.columns[name][row].item() for name in names} | {"topic_id": commits.topic_id.get(row)}
        for row, key in enumerate(committed.keys)
    }


def known(committed: CommittedOffsets, alias: str = "X") -> dict[str, object]:
    """Return all that is known of the only key."""
    (only,) = state(committed, alias).values()
    return only


_records = st.builds(
    CommitRecord,
    group_id=st.sampled_from("ab"),
    place=st.just(ORDERS),
    offset=st.sampled_from([None, -1, 3, 4, 5, 6]),
    at_ms=st.just(0),
    metadata=st.sampled_from(["", "m"]),
    topic_id=st.sampled_from([None, "id"]),
)
commit_logs = st.lists(_records, max_size=12).map(lambda log: [replace(each, at_ms=at) for at, each in enumerate(log)])
"""Commits of two groups, of few offsets, so that they repeat each other and what we wrote."""
