"""Which rows are asked for."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from generators.reports import HOSTILE_NAMES, random_drift, random_status
from offset_sync.model.errors import OffsetSyncError
from offset_sync.status.filters import select_drift, select_status

STATUS = random_status(random.Random(5), ["pay", "pay-eu", "audit", *HOSTILE_NAMES], pairs=[("a", "b"), ("b", "a")])


@pytest.mark.parametrize(
    ("groups", "topics", "statuses"),
    [
        ((), (), ()),
        (["pay"], (), ()),
        (["pay.*", "audit"], ["orders"], ()),
        ((), ["orders", "audit.*"], ["behind", "InSync"]),
        ([".*\\n.*"], (), ["WITHHELD", "mirroring", "insync"]),
        (["nobody"], (), ()),
    ],
)
def test_a_row_is_selected_by_its_whole_names_and_its_status(
    groups: Sequence[str], topics: Sequence[str], statuses: Sequence[str]
) -> None:
    names = {
        "": None,
        "pay": {"pay"},
        "pay.*": {"pay", "pay-eu", "audit"},
        ".*\\n.*": {"a\nb\r\tc"},
        "nobody": set(),
    }[groups[0] if groups else ""]
    words = {each.lower() for each in statuses}
    expected = [
        row
        for row in STATUS.to_pylist()
        if (names is None or row["group_id"] in names)
        and (not topics or row["topic"] == "orders" or ("audit.*" in topics and row["topic"] == "audit.log"))
        and (not words or row["status"].lower() in words)
    ]
    assert select_status(STATUS, groups, topics, statuses).to_pylist() == expected


def test_what_is_neither_pattern_nor_status_is_an_error_with_its_place() -> None:
    with pytest.raises(OffsetSyncError, match=r"group_id: '\(' is no regular expression"):
        select_status(STATUS, ["("])
    with pytest.raises(OffsetSyncError, match=r"status: 'Fine' is none; use one of Withheld, Stalled"):
        select_status(STATUS, statuses=["Fine"])


def test_drift_follows_the_pairs_and_groups_that_are_asked_for() -> None:
    drift = random_drift(random.Random(1), ["pay", "audit"], [("a", "b"), ("b", "a"), ("a", "c")], reports=2)

    def keys(groups: Sequence[str]) -> set[tuple[str, ...]]:
        rows = select_drift(drift, STATUS, groups).to_pylist()
        return {(row["source_cluster"], row["target_cluster"], row["group_id"]) for row in rows}

    assert keys(["pay"]) == {(*pair, group) for pair in (("a", "b"), ("b", "a")) for group in (None, "pay")}
    assert len(keys(())) == 6
