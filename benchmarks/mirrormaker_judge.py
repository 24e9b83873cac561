"""What a position at the target costs a group, by the true contents of both logs and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync_demo.kafka.clients import Partition
from offset_sync_demo.load.records import Records

Ints = NDArray[np.int64]
GROUPS = ("tail", "middle", "lagging")
_NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Commit:
    """An offset that the group had committed at the source; *at_s* is when it was committed."""

    at_s: float
    offset: int


@dataclass(frozen=True)
class Answers:
    """The offsets of the groups at the target, by group id, topic and partition; *seconds* are since the load's end."""

    seconds: int
    at_s: float
    positions: Mapping[tuple[str, Partition], int]


@dataclass(frozen=True)
class Cost:
    """Records read a second time, records that are skipped unread, and the age of what the target knows."""

    read_again: int
    lost: int
    stale_s: float


class JudgedPartition:
    """Both logs of one partition, compared by who the records are."""

    def __init__(self, source: Records, target: Records) -> None:
        self._source, self._target = source, target
        self._at_source = _offsets_of(target, source)
        self._at_target = _offsets_of(source, target)

    def cost(self, commits: Sequence[Commit], position: int | None, asked_at_s: float) -> Cost:
        """Return what it costs to start the group at *position* after *commits*; without one it starts at 0.

        Read again: records of the target's log at or above the position that are below the last commit at the source,
        also those that reach the target only later. Lost: records below the position that do not. Stale: for how
        long a commit has been at the source that the position does not cover, which is one above the first source
        record that is not below the position at the target; 0 if there is none. A mirror that lags makes all stale.
        """
        read_to = commits[-1].offset
        start = 0 if position is None else position
        is_read = self._at_source < read_to
        is_skipped = self._target.offsets < start
        unread = self._source.offsets[self._at_target >= start]
        covered = int(unread.min()) if len(unread) else _NOWHERE
        uncovered = [each.at_s for each in commits if each.offset > covered]
        return Cost(
            read_again=int(np.count_nonzero(is_read & ~is_skipped)),
            lost=int(np.count_nonzero(is_skipped & ~is_read)),
            stale_s=max(0.0, asked_at_s - min(uncovered)) if uncovered else 0.0,
        )


def _offsets_of(wanted: Records, log: Records) -> Ints:
    """Return the first offset in *log* of each wanted record, the greatest number where it is missing; (wanted,)."""
    if len(log) == 0:
        return np.full(len(wanted), _NOWHERE, np.int64)
    order = np.argsort(log.ids, kind="stable")
    ids = log.ids[order]
    place = np.minimum(np.searchsorted(ids, wanted.ids, "left"), len(ids) - 1)
    found: Ints = np.where(ids[place] == wanted.ids, log.offsets[order][place], _NOWHERE)
    return found


def rows_of(
    ways: Mapping[str, tuple[Mapping[str, str], str]],
    commits: Mapping[tuple[str, Partition], Sequence[Commit]],
    asked: Sequence[Answers],
    logs: Mapping[Partition, JudgedPartition],
) -> Iterator[dict[str, Any]]:
    """Yield a row for each instant, group and way over all partitions; *ways* name kinds by group id, and a topic."""
    for answers in asked:
        for kind in GROUPS:
            for way, (kinds, topic) in ways.items():
                group = next(group for group, its_kind in kinds.items() if its_kind == kind)
                places = [place for place in logs if place[0] == topic]
                made = {p: [each for each in commits[kind, p] if each.at_s <= answers.at_s] for p in places}
                stood = {p: answers.positions.get((group, p)) for p in places}
                costs = [logs[p].cost(made[p], stood[p], answers.at_s) for p in places]
                yield {
                    "instant": answers.seconds,
                    "group": kind,
                    "way": way,
                    "answered": sum(position is not None for position in stood.values()) / len(places),
                    "read": round(float(np.mean([each[-1].offset for each in made.values()]))),
                    "read_again": round(float(np.mean([cost.read_again for cost in costs]))),
                    "read_again_worst": max(cost.read_again for cost in costs),
                    "lost": sum(cost.lost for cost in costs),
                    "stale_s": round(max(cost.stale_s for cost in costs), 1),
                }


def broken_promises(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what makes the comparison void or breaks our word: a sentence each."""
    found = []
    for run in dict.fromkeys(row["run"] for row in rows):
        mine = [row for row in rows if row["run"] == run]
        last = max(row["instant"] for row in mine)
        if not any(row["answered"] for row in mine if row["way"] == "MirrorMaker 2"):
            found.append(f"{run}: MirrorMaker 2 never committed anything at the target, so nothing is compared")
        for row in mine:
            if row["way"] != "MirrorMaker 2":
                where = f"{run}: {row['way']}, group {row['group']}, {row['instant']:+d} s"
                found += [f"{where}: {row['lost']} records lost"] * (row["lost"] > 0)
                found += [f"{where}: no answer in some partition"] * (row["instant"] == last and row["answered"] < 1)
    return found
