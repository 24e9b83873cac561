"""Translations of copies without headers against the true contents of both logs, for every commit, both ways.

``python -m contents.fingerprints --minutes 10`` goes through the workloads of mirrors for as long as one likes, and
prints how many commits were judged in which setting, how many answers were exact, and any that was ahead.

An answer is *ahead by identity* where a record below it is unread: its original, or its first copy, is not
below the commit; what the mirror dropped counts as read with the next later one. It is *ahead by content* where no
record with the same contents is below the commit either. By content none may be ahead, and by identity none of a
mirror that drops nothing at random: where it does, and sends again, a copy may be in the place of an equal one.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from contents.fingerprint_follower import COPIES, ORIGIN, Follower
from contents.mirror_settings import Setting, by_time, fuzz, late_starts, settings_of
from contents.unstamped_copies import History, history
from offset_sync.translate.exact import Bounds, translate
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
        return cls(told.original, _needs(told), _first_of(told.contents, told.copy, told.copied))

    @classmethod
    def between(cls, source: History, target: History) -> Truth:
        """From the copies of one mirror to those of another."""
        needs = _needs(source)[target.of]
        return cls(target.copy, needs, _first_of(target.copied, source.copy, source.copied))

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


def _needs(told: History) -> Int64s:
    """Return for each original where a group has to have come among the copies to have read it."""
    place = np.full(len(told.original), NEVER)
    np.minimum.at(place, told.of, told.copy)
    later = np.minimum.accumulate(np.append(place[1:], NEVER)[::-1])[::-1]
    return np.where(place < NEVER, place, later)


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
    """Judge every commit both ways by what is indexed now; holes younger than *grace* copies count as unread."""
    bounds = _bounds(told, follower, grace)
    copies = PartitionLog.of(follower.copies, COPIES)
    originals = PartitionLog.of(follower.originals, ORIGIN)
    found = Tally()
    begin, end = follower.originals.begin, follower.originals.frontier
    commits = np.arange(0, end + 1)
    answers = translate(commits, originals, copies, bounds).offset
    found += Truth.forward(told).judge(commits, answers, 0, follower.copies.frontier)
    commits = _commits(told, follower)
    answers = translate(commits, copies, originals, bounds).offset
    found += Truth.backward(told).judge(commits, np.maximum(answers, begin), begin, end)
    assert not follower.copies.is_contradicted
    return found


def _bounds(told: History, follower: Follower, grace: int) -> Bounds:
    """When all is indexed nothing can come late, and no hole is young any more."""
    read = follower.copies_read
    behind = read - int(told.copy.searchsorted(follower.copies.frontier))
    return Bounds(young_since_ms=read if follower.is_done and behind == 0 else read - behind - grace)


def _commits(told: History, follower: Follower) -> Int64s:
    return np.arange(0, int(told.copy[follower.copies_read - 1]) + 2 if follower.copies_read else 1)


def simulate(setting: Setting, seed: int, looks: int = 5) -> Tally:
    """Read one history to its end; judge it at some moments, about so many *looks*, and when all is decided."""
    told, rng = history(setting.workload, seed), np.random.default_rng(seed + 1)
    follower, found = Follower(told, setting.reading, setting.settings, rng), Tally()
    while not follower.is_done:
        follower.step()
        if rng.random() < looks * setting.reading.batch / len(told.of):
            found += judged(told, follower, told.latest_fill)
    follower.finish()
    found += judged(told, follower, told.latest_fill)
    return found


def simulate_two(setting: Setting, seed: int, looks: int = 3) -> Tally:
    """Judge every commit from the copies of one mirror to those of another, which are read side by side."""
    tolds, rng, found = [history(setting.workload, seed, each) for each in (0, 1)], np.random.default_rng(seed), Tally()
    here, there = (Follower(told, setting.reading, setting.settings, rng) for told in tolds)

    def look() -> Tally:
        commits, logs = _commits(tolds[0], here), (PartitionLog.of(each.copies, COPIES + 1) for each in (here, there))
        answers = translate(commits, *logs, _bounds(tolds[0], here, tolds[0].latest_fill)).offset
        return Truth.between(*tolds).judge(commits, answers, 0, there.copies.frontier)

    while not (here.is_done and there.is_done):
        (here if rng.random() < 0.5 else there).step()
        if rng.random() < looks * setting.reading.batch / len(tolds[0].of) / 2:
            found += look()
    here.finish()
    there.finish()
    found += look()
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    has_failed = False
    until, tallies, seed = time.monotonic() + 60 * asked.minutes, dict[str, Tally](), asked.seed
    kinds = [*settings_of(asked.records), *late_starts(asked.records), *by_time(asked.records)]
    while time.monotonic() < until:
        for number, each in enumerate(kinds):
            small = fuzz(len(kinds) * seed + number)
            cases = {
                each.name: (simulate, each),
                "fuzz": (simulate, small),
                "fuzz, between copies": (simulate_two, small),
            }
            if number % 10 == seed % 10:
                cases[f"between copies: {each.name}"] = (simulate_two, each)
            for name, (judge, setting) in cases.items():
                found = judge(setting, seed)
                tallies.setdefault(name, Tally()).__iadd__(found)
                has_failed |= found.ahead_by_content > 0 or (found.ahead > 0 and not setting.workload.drop)
                if found.ahead:
                    print(f"AHEAD seed {seed}: {name}: {setting}: {found}", flush=True)
            if time.monotonic() > until:
                break
        seed += 1
    total = Tally()
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
        total += tally
    print(f"all: {total}")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
