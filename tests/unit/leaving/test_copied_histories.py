"""Law: whatever happens to three clusters with copies byte for byte, no answer skips a record that is not read."""

from __future__ import annotations

import pytest

from leaving.copied_histories import LIVES, OFTEN, SELDOM, CopiedHistory

LINKED = {"promote": 0.6, "relink": 0.6}
WEIGHTS = {
    "no other life": OFTEN | SELDOM,
    "other lives": OFTEN | SELDOM | LIVES,
    "written copies": OFTEN | SELDOM | LIVES | LINKED,
    "other strategies": OFTEN | SELDOM | LIVES | LINKED | {"configure": 1.0},
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_no_answer_skips_what_is_not_read(weights: dict[str, float]) -> None:
    for seed in range(8):
        history = CopiedHistory(seed, weights)
        assert history.go() == [], (seed, history.history)


def test_copies_that_always_were_such_are_answered_to_their_ends() -> None:
    for seed in range(8):
        history = CopiedHistory(seed, WEIGHTS["no other life"])
        history.go()
        assert history.heal() == [], (seed, history.history)
