"""Whose commit counts, and what may be done to the value that stands at a target."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.model.values import Rule
from offset_sync.state.committed_offsets import NO_OWNER, owners
from offset_sync.sync.write_plan import rules


def owner_of(*genuine_at_ms: int) -> int:
    return int(owners(np.array(genuine_at_ms, np.int64).reshape(-1, 1))[0])


def rule_of(actual: int, *, is_own: bool = False, actual_at_ms: int = 10, rewound_at_ms: int = -1) -> Rule:
    found = rules(np.array([actual]), np.array([is_own]), np.array([actual_at_ms]), np.array([rewound_at_ms]))
    return Rule(found[0])


@pytest.mark.parametrize(
    ("genuine_at_ms", "owner"),
    [((5, 7, 6), 1), ((5, -1, -1), 0), ((-1, -1, 0), 2), ((-1, -1, -1), NO_OWNER), ((7, 7, 3), 0), ((3, 7, 7), 1)],
)
def test_the_owner_is_who_committed_last_and_of_equals_the_first(genuine_at_ms: tuple[int, ...], owner: int) -> None:
    assert owner_of(*genuine_at_ms) == owner


def test_no_keys_have_no_owners() -> None:
    assert owners(np.empty((3, 0), np.int64)).tolist() == []


def test_keys_are_judged_one_by_one() -> None:
    assert owners(np.array([[5, -1, 9], [6, -1, 8]])).tolist() == [1, NO_OWNER, 0]


def test_where_nothing_or_our_own_value_stands_it_may_be_set_up_or_down() -> None:
    assert rule_of(-1) is Rule.SET
    assert rule_of(7, is_own=True) is Rule.SET
    assert rule_of(7, is_own=True, rewound_at_ms=20) is Rule.SET


def test_somebody_elses_value_is_moved_forward_only() -> None:
    assert rule_of(7) is Rule.FORWARD
    assert rule_of(0) is Rule.FORWARD
    assert rule_of(7, rewound_at_ms=9) is Rule.FORWARD


def test_a_reset_after_somebody_elses_value_is_followed_and_one_at_the_same_time_is_not() -> None:
    assert rule_of(7, rewound_at_ms=11) is Rule.FOLLOW
    assert rule_of(7, rewound_at_ms=10) is Rule.FORWARD
