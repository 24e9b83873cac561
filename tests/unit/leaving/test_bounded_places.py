"""Answers where of some records only bounds are known, against the rules written out record by record."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs, at_most
from offset_sync.translate.partition_log import PartitionLog

HOME, HERE, THERE = 0, 1, 2
"""Who produced the records, and two clusters that have copies."""
NEVER = 10**9
YOUNG_SINCE_MS = 50


@dataclass
class Copies:
    """Records of one log: what is said of each, when it was indexed, and the latest offsets of originals."""

    told: dict[int, tuple[str, int]] = field(default_factory=dict)
    seen_ms: int = 0
    latest: dict[int, int] = field(default_factory=dict)
    index: LogIndex = field(default_factory=LogIndex)

    def grow(self, rng: np.random.Generator) -> None:
        """Index some more."""
        self.seen_ms += int(rng.integers(0, 30))
        begin = self.index.frontier
        offsets = [begin + at for at in range(int(rng.integers(1, 12))) if rng.random() < 0.9]
        new = {offset: self._of(rng) for offset in offsets}
        places = {int(rng.integers(0, 30)): int(rng.choice(offsets)) for _ in range(3 if offsets else 0)}
        self.told |= {offset: (*said, self.seen_ms)[:2] for offset, said in new.items()}
        self.seen = getattr(self, "seen", {}) | dict.fromkeys(offsets, self.seen_ms)
        self.latest |= {each: max(place, self.latest.get(each, -1)) for each, place in places.items()}
        if places:
            one, zero = np.ones(len(places)), np.zeros(len(places))
            self.index.note_unrecognised(Runs.of(list(places.values()), one, zero, list(places), zero))
        codes = {"exact": HOME, "at most": at_most(HOME), "alien": UNKNOWN_ORIGIN}
        rows = [(offset, 1, codes[kind], number, self.seen_ms) for offset, (kind, number) in new.items()]
        columns = zip(*rows) if rows else [[]] * 5
        self.index.extend(Runs.of(*columns), begin + 12)

    def _of(self, rng: np.random.Generator) -> tuple[str, int]:
        kind = str(rng.choice(["exact", "at most", "alien"], p=[0.6, 0.37, 0.03]))
        near = len(self.told) + int(rng.integers(-4, 5))
        return kind, max(near, 0)

    def place_of(self, original: int) -> int:
        """Where a group has to have come to have read this original."""
        exact = {offset: number for offset, (kind, number) in self.told.items() if kind == "exact"}
        if here := [offset for offset, number in exact.items() if number == original]:
            return min(here)
        shown = min((offset for offset, number in exact.items() if number > original), default=NEVER)
        if shown == NEVER or self.seen[shown] > YOUNG_SINCE_MS:
            return NEVER
        aliens = [offset for offset, (kind, _) in self.told.items() if kind == "alien"]
        return max([shown, *aliens, self.latest.get(original, -1)])


def answers(needs: dict[int, int], committed: range, frontier: int) -> list[int]:
    return [min((y for y in sorted(needs) if needs[y] >= c), default=frontier) for c in committed]


def needs_at(target: Copies, place_of: list[int], source_is_home: bool) -> dict[int, int]:
    found = {}
    for offset, (kind, number) in target.told.items():
        if kind == "alien":
            found[offset] = NEVER
        elif source_is_home:
            found[offset] = number
        else:
            found[offset] = max(place_of[: number + 1]) if kind == "at most" else place_of[number]
    return found


@pytest.mark.parametrize("is_paged", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_every_answer_is_the_one_of_the_rules(seed: int, is_paged: bool) -> None:
    rng, pages = np.random.default_rng(seed), (KeptPages(), KeptPages())
    here, there = Copies(), Copies()
    for _ in range(rng.integers(2, 6)):
        for log, kept in zip((here, there), pages):
            if is_paged:
                let_go_of_all_but(log.index, 1, 3, kept)
            log.grow(rng)
    home = LogIndex()
    home.extend(Runs.of([0], [40], [HOME], [0], [0]), 40)
    place_of = [here.place_of(original) for original in range(60)]
    bounds, logs = (
        Bounds(YOUNG_SINCE_MS),
        {
            "home": PartitionLog.of(home, HOME),
            "here": PartitionLog.of(here.index, HERE),
            "there": PartitionLog.of(there.index, THERE),
        },
    )
    cases = {
        ("home", "there"): needs_at(there, place_of, source_is_home=True),
        ("here", "home"): {original: place_of[original] for original in range(40)},
        ("here", "there"): needs_at(there, place_of, source_is_home=False),
    }
    for (source, target), needs in cases.items():
        committed = range(logs[source].index.frontier + 1)
        found = translate(np.array(committed), logs[source], logs[target], bounds)
        frontier = logs[target].index.frontier
        right, wanted = answers(needs, committed, frontier), found.offset.tolist()
        # Of a stretch of places in a hole the last one counts for all: earlier, never later.
        assert all(answer <= best for answer, best in zip(wanted, right)), (source, target)
        if source == "home":
            assert wanted == right
        read = [sum(need < c for y, need in needs.items() if y >= answer) for c, answer in zip(committed, wanted)]
        assert (found.duplicates <= np.array(read)).all()
        unread = [sum(need >= c for y, need in needs.items() if y >= answer) for c, answer in zip(committed, wanted)]
        assert (found.duplicates_at_most <= np.array(read) + np.array(unread)).all()


def test_what_may_have_been_read_is_among_the_duplicates_at_most() -> None:
    home, copies = LogIndex(), LogIndex()
    home.extend(Runs.of([0], [10], [HOME], [0], [0]), 10)
    copies.note_unrecognised(Runs.of([2, 2], [1, 1], [HOME, HOME], [2, 7], [0, 0]))
    copies.extend(Runs.of([0, 2, 3], [2, 1, 7], [HOME, at_most(HOME), HOME], [0, 7, 3], [0, 0, 0]), 10)
    origin, copy = PartitionLog.of(home, HOME), PartitionLog.of(copies, HERE)
    found = translate(np.array([5]), origin, copy, Bounds(0))
    assert (found.offset.tolist(), found.duplicates.tolist(), found.duplicates_at_most.tolist()) == ([2], [2], [3])
    back = translate(np.array([2, 3]), copy, origin, Bounds(0))
    assert back.offset.tolist() == [2, 2]
    assert (back.duplicates_at_most >= back.duplicates).all()
