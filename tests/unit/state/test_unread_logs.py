"""Whose commits count while a cluster's log of commits has not been read since the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offset_sync.state.group_homes import UnreadLogs

ROWS = np.array([0, 1, 2])


def logs(*unread: str, of: Sequence[str] = ("X", "Y", "Z")) -> UnreadLogs:
    """Logs of which those *unread* have not been read to their ends."""
    made = UnreadLogs()
    made.begin(of)
    made.note_read([alias for alias in of if alias not in unread])
    return made


def counts(made: UnreadLogs, source: str, *answered: int) -> list[int]:
    """The rows that may be answered, of which *answered* were already."""
    return ROWS[made.may_count(source, ROWS, np.isin(ROWS, answered))].tolist()


def brought(made: UnreadLogs, alias: str, *rows: int) -> None:
    made.note_brought(alias, np.array(rows, np.intp))


def test_while_another_log_is_unread_only_what_is_new_or_was_answered_counts() -> None:
    made = logs("X")
    assert counts(made, "Y") == []
    assert counts(made, "Y", 1) == [1]
    brought(made, "Y", 2)
    assert counts(made, "Y", 1) == [1, 2]
    assert counts(made, "Z") == []


def test_what_was_brought_before_its_own_log_was_read_to_the_end_is_not_new() -> None:
    made = UnreadLogs()
    made.begin(["X", "Y"])
    brought(made, "Y", 0)
    assert made.note_read(["Y"]) == ["Y"]
    brought(made, "Y", 1)
    assert counts(made, "Y") == [1]


def test_of_the_unread_cluster_itself_counts_what_was_known_and_not_what_is_being_read() -> None:
    made = logs("X")
    assert counts(made, "X") == [0, 1, 2]
    brought(made, "X", 1)
    assert counts(made, "X", 1) == [0, 2]
    assert made.note_read(["X", "Y"]) == ["X"]
    assert counts(made, "X") == counts(made, "Y") == [0, 1, 2]


def test_of_two_unread_clusters_each_may_have_what_is_newer_than_the_others() -> None:
    made = logs("X", "Z")
    brought(made, "X", 0)
    brought(made, "Y", 0)
    assert counts(made, "X", 0, 1) == [1]
    assert counts(made, "Y", 1) == [0, 1]
    assert counts(made, "Z") == []
