"""What may be done to the value that a target holds."""

from __future__ import annotations

import numpy as np

from offset_sync.model.values import Rule
from offset_sync.sync.write_plan import rules


def rule_of(actual: int, *, is_own: bool = False, made_ms: int = 10, rewound_ms: int = -1) -> Rule:
    found = rules(np.array([actual]), np.array([is_own]), np.array([made_ms]), np.array([rewound_ms]))
    return Rule(found[0])


def test_where_the_target_holds_nothing_or_our_own_value_it_may_be_set_up_or_down() -> None:
    assert rule_of(-1) is Rule.SET
    assert rule_of(7, is_own=True) is Rule.SET
    assert rule_of(7, is_own=True, rewound_ms=20) is Rule.SET


def test_a_value_of_another_client_is_moved_forward_only() -> None:
    assert rule_of(7) is Rule.FORWARD
    assert rule_of(0) is Rule.FORWARD
    assert rule_of(7, rewound_ms=9) is Rule.FORWARD


def test_a_reset_after_a_value_of_another_client_is_followed_and_one_at_the_same_time_is_not() -> None:
    assert rule_of(7, rewound_ms=11) is Rule.FOLLOW
    assert rule_of(7, rewound_ms=10) is Rule.FORWARD
