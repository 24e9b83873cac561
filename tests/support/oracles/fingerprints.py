"""Translations of copies without headers against what really stands in both logs, for every commit, both ways.

``python -m oracles.fingerprints --minutes 10`` goes through the workloads of mirrors for as long as one likes, and
prints how many commits were judged in which setting, how many answers were exact, and any that was ahead.

An answer is *ahead by identity* where a record below it is unread: its original, or its first copy, does not stand
below the commit; what the mirror dropped counts as read with the next later one. It is *ahead by content* where no
record with the same contents stands below the commit either.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fakes.fingerprint_follower import COPIES, ORIGIN, Follower, Reading
from generators.unstamped_copies import ALPHABET, REPEATS, History, Workload, history
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.fingerprint.records import Settings
from offset_sync.translate.partition_log import PartitionLog

Int64s = NDArray[np.int64]
NEVER = np.int64(1 << 60)


@dataclass
class Tally:
    """Commits that were judged, answers that were the best possible, and what is wrong with the others."""

    judged: int = 0
    exact: int = 0
    early: int = 0
    ahead: int = 0
    ahead_by_content: int = 0

    def __iadd__(self, other: Tally) -> Tally:
        for field in fields(Tally):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self

    def __str__(self) -> str:
        share, mean = self.exact / max(self.judged, 1), self.early / max(self.judged, 1)
        return (
            f"{self.judged:,} judged, {share:.3%} exact, {mean:.2f} early, {self.ahead} ahead ({self.ahead_by_content})"
        )


@dataclass(frozen=True)
class Truth:
    """Of one direction: offsets of the target's records, what each needs, and the first equal at the source."""

    offset: Int64s
    needs: Int64s
    equal_at: Int64s

    @classmethod
    def forward(cls, told: History) -> Truth:
        """From the originals to the copies."""
        return cls(told.copy, told.identity, _first_of(told.copied, told.original, told.contents))

    @classmethod
    def backward(cls, told: History) -> Truth:
        """From the copies to the originals."""
        place = np.full(len(told.original), NEVER)
        np.minimum.at(place, told.of, told.copy)
        later = np.minimum.accumulate(np.append(place[1:], NEVER)[::-1])[::-1]
        needs = np.where(place < NEVER, place, later)
        return cls(told.original, needs, _first_of(told.contents, told.copy, told.copied))

    def judge(self, committed: Int64s, answer: Int64s, begin: int, end: int) -> Tally:
        """Compare answers with the first unread record in ``[begin, end)`` of the target; shapes (commits,)."""
        kept = (self.offset >= begin) & (self.offset < end)
        offset, needs, equal_at = self.offset[kept], self.needs[kept], self.equal_at[kept]
        best = _first_unread(offset, needs, committed, end)
        ahead = answer > best
        same = _first_unread(offset, np.minimum(needs, equal_at), committed[ahead], end)
        early = np.maximum(offset.searchsorted(best) - offset.searchsorted(np.maximum(answer, begin)), 0)
        wrong = int((answer[ahead] > same).sum())
        return Tally(len(answer), int((early == 0).sum() - ahead.sum()), int(early.sum()), int(ahead.sum()), wrong)


def _first_unread(offset: Int64s, needs: Int64s, committed: Int64s, end: int) -> Int64s:
    row = np.maximum.accumulate(needs).searchsorted(committed, "left")
    return np.append(offset, end)[row]


def _first_of(asked: Int64s, offset: Int64s, contents: Int64s) -> Int64s:
    """Return the first offset at which a log has each of the contents *asked* for."""
    kinds, number = np.unique(contents, return_inverse=True)
    first = np.full(len(kinds) + 1, NEVER)
    np.minimum.at(first, number, offset)
    row = np.minimum(kinds.searchsorted(asked), len(kinds) - 1)
    return first[np.where(kinds[row] == asked, row, len(kinds))]


def judged(told: History, follower: Follower, grace: int) -> Tally:
    """Judge every commit both ways by what is indexed now; holes younger than *grace* copies count as unread.

    When all is indexed nothing can come late, and no hole is young any more.
    """
    read, frontier = follower.copies_read, follower.copies.frontier
    behind = read - int(told.copy.searchsorted(frontier))
    is_all = follower.is_done and behind == 0
    bounds = Bounds(young_since_ms=read if is_all else read - behind - grace)
    copies = PartitionLog.of(follower.copies, COPIES)
    originals = PartitionLog.of(follower.originals, ORIGIN)
    found = Tally()
    begin, end = follower.originals.begin, follower.originals.frontier
    commits = np.arange(0, end + 1)
    answers = translate(commits, originals, copies, bounds).offset
    found += Truth.forward(told).judge(commits, answers, 0, frontier)
    commits = np.arange(0, int(told.copy[read - 1]) + 2 if read else 1)
    answers = translate(commits, copies, originals, bounds).offset
    found += Truth.backward(told).judge(commits, np.maximum(answers, begin), begin, end)
    assert not follower.copies.is_contradicted
    return found


def simulate(workload: Workload, reading: Reading, settings: Settings, seed: int, looks: int = 5) -> Tally:
    """Read one history to its end; judge it at some moments, about so many *looks*, and when all is decided."""
    told, rng = history(workload, seed), np.random.default_rng(seed + 1)
    follower, found = Follower(told, reading, settings, rng), Tally()
    grace = told.latest_fill
    while not follower.is_done:
        follower.step()
        if rng.random() < looks * reading.batch / len(told.of):
            found += judged(told, follower, grace)
    follower.finish()
    found += judged(told, follower, grace)
    return found


@dataclass(frozen=True)
class Setting:
    """A workload, how it is read, and what is said of the mirror."""

    name: str
    workload: Workload
    reading: Reading
    settings: Settings


LOSSES: dict[str, dict[str, float]] = {
    "nothing lost": {},
    "dropped at random": {"drop": 0.001},
    "much dropped at random": {"drop": 0.1},
    "dropped by content": {"drop_contents": 0.05},
}
ORDERS: dict[str, dict[str, float]] = {
    "in order": {},
    "light reorder": {"reorder": 0.01},
    "heavy reorder": {"reorder": 0.3, "displaced": 40},
}
SHARES = {"same millisecond": (0.01, 0.5), "batches sent twice": (0.1,), "far apart": (0.1,), "five constants": (0.3,)}


def settings_of(records: int) -> Iterator[Setting]:
    """Yield what mirrors do, with all true that was said of the mirror."""
    base = Settings(hold_ms=3_000, resend_records=1_200, resend_ms=10**9, entry=30)
    for repeat, (loss, lost), (order, moved) in itertools.product(REPEATS, LOSSES.items(), ORDERS.items()):
        for share, first in itertools.product(SHARES[repeat], (0, records // 4)):
            workload = Workload(records, repeat, share, markers=0.002)
            workload = replace(workload, **lost, **moved)  # type: ignore[arg-type]
            is_timed = repeat not in ("far apart", "five constants")
            said = replace(base, keeps_timestamps=is_timed, keeps_order=order == "in order")
            name = f"{repeat} {share:.0%}, {loss}, {order}, originals from {first}"
            yield Setting(name, workload, Reading(first=first), said)


def late_starts(records: int) -> Iterator[Setting]:
    """Yield what is read from somewhere on, with equal contents before that and after it."""
    said = Settings(hold_ms=3_000, resend_records=150, resend_ms=10**9, entry=30)
    for repeat, share, (loss, lost) in itertools.product(REPEATS, (0.05, 0.4), LOSSES.items()):
        workload = replace(Workload(records, repeat, share, restart=400, resend=100), **lost)  # type: ignore[arg-type]
        settings = replace(said, keeps_timestamps=repeat != "five constants")
        yield Setting(f"{repeat} {share:.0%}, {loss}, late", workload, Reading(300, first=records // 4), settings)


def fuzz(seed: int) -> Setting:
    """Return small logs of few kinds of contents with many faults."""
    rng = np.random.default_rng(seed)
    records, reorder = int(rng.integers(20, 400)), float(rng.choice([0, 0, 0.1, 0.4]))
    workload = Workload(
        records,
        ALPHABET,
        float(rng.choice([0.02, 0.1, 0.5, 1.0, 3.0])),
        restart=int(rng.choice([30, 100, 1_000])),
        resend=int(rng.choice([5, 50])),
        drop=float(rng.choice([0, 0, 0.1])),
        drop_contents=float(rng.choice([0, 0, 0.1])),
        reorder=reorder,
        displaced=int(rng.choice([3, 10])),
        markers=float(rng.choice([0, 0, 0.1])),
        altered=float(rng.choice([0, 0, 0, 0.02])),
    )
    is_timed = bool(rng.random() < 0.6)
    # Without times nothing may stand further from its place than by slack: what is moved and dropped.
    is_straight = workload.drop + workload.drop_contents + reorder + workload.markers == 0
    slack = int(rng.choice([5, 20])) if is_straight else 120
    said = Settings(is_timed, reorder == 0, slack, reorder_window=20, hold_ms=int(rng.choice([5, 50, 10_000])))
    said = replace(said, resend_records=int(rng.choice([80, 1_000])), resend_ms=10**9)
    reading = Reading(int(rng.choice([1, 5, 30, 500])), int(rng.choice([0, 5, 50])), float(rng.choice([0, 0.3])))
    return Setting("fuzz", workload, reading, said)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    until, total, tallies, seed = time.monotonic() + 60 * asked.minutes, Tally(), dict[str, Tally](), asked.seed
    while time.monotonic() < until:
        for each in (*settings_of(asked.records), *late_starts(asked.records)):
            found = simulate(each.workload, each.reading, each.settings, seed)
            tallies.setdefault(each.name, Tally()).__iadd__(found)
            total += found
            if found.ahead:
                print(f"AHEAD seed {seed}: {each.name}: {found}", flush=True)
            for number in range(40):
                small = fuzz(1_000_000 * seed + 40 * len(tallies) + number)
                more = simulate(small.workload, small.reading, small.settings, seed + number)
                tallies.setdefault(small.name, Tally()).__iadd__(more)
                total += more
                if more.ahead:
                    print(f"AHEAD seed {seed + number}: {small}: {more}", flush=True)
            if time.monotonic() > until:
                break
        seed += 1
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
    print(f"all: {total}")
    return 1 if total.ahead_by_content else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
