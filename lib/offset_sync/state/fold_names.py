"""What streams were called when the history was folded: folds have streams, and a stream may have another name by now.

A copy that comes by another way than before has another name, and is another log. What a group has committed to the
copy before says nothing of that log, though the configuration and the stream are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from offset_sync.config.stream_names import Names

_KEY = "called"


def told_names(names: Names, commits: pa.Table, answers: pa.Table) -> dict[str, Any]:
    """Return what belongs to folds of *commits* and *answers*; nothing where all names are the same."""
    if names.is_same:
        return {}
    committed = _places(commits, "cluster")
    answered = _places(answers, "source_cluster") | _places(answers, "target_cluster")
    # Streams first: who learns from this shall not meet the name of a copy that was left alone before.
    in_order = sorted(committed, key=lambda place: (names.origin_topic(place[1]) is None, place))
    told = [[alias, stream, names.outside(alias, stream)] for alias, stream in in_order]
    more = [[alias, stream, names.topic(alias, stream)] for alias, stream in sorted(answered - committed)]
    return {_KEY: {"committed": told, "answered": more}}


def are_names_of_now(names: Names, told: Mapping[str, Any]) -> bool:
    """Return whether every stream of a fold is called now as was *told*; errs to False: then all history is read.

    Where a cluster has not said by what way a copy came, this teaches *names*, as the rows of the tables would.
    """
    if names.is_same:
        return True
    if _KEY not in told:
        return False
    called = told[_KEY]
    is_committed = all(names.inside(alias, topic) == stream for alias, stream, topic in called["committed"])
    return is_committed and all(names.topic(alias, stream) == topic for alias, stream, topic in called["answered"])


def _places(rows: pa.Table, cluster: str) -> set[tuple[str, str]]:
    found = rows.select([cluster, "topic"]).group_by([cluster, "topic"]).aggregate([]).to_pylist()
    return {(row[cluster], row["topic"]) for row in found}
