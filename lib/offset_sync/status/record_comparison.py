"""Is the record that a group would read next the same on both sides? Both are read, and nothing is taken on trust."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import decode_identities
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

ReadAt = Callable[[str, Mapping[TopicPartition, int]], "Mapping[TopicPartition, RecordContent] | ClusterError"]
"""Reads, at a cluster, the first record of each partition at or above an offset; left out: none came in time."""
_REMEMBERED = 200_000
BUDGET_S = 10.0
"""So long a report is held up by comparing, and a round longer at most."""


_TOO_MANY = "its next record is still to be compared: there are many"


@dataclass(frozen=True)
class RecordPair:
    """Is the first record at or above *source_offset* the same as the first at or above *target_offset*?"""

    source: str
    target: str
    place: TopicPartition
    source_offset: int
    target_offset: int


class RecordComparer:
    """Compares by identity, timestamp, key and value; what was the same once is not read again.

    Where there is more to compare than *budget_s* seconds by *clock* allow, the rest is not called the same this time.
    """

    def __init__(
        self, config: Config, read_at: ReadAt, budget_s: float = BUDGET_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._read_at = read_at
        self._budget_s = budget_s
        self._clock = clock
        self._same: set[RecordPair] = set()

    def __call__(self, questions: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Return for each question None where the records are the same, else in what they differ."""
        until = self._clock() + self._budget_s
        found: dict[RecordPair, str | None] = {each: None if each in self._same else _TOO_MANY for each in questions}
        for some in _rounds([each for each, difference in found.items() if difference is not None]):
            found |= self._compare(some)
            if self._clock() >= until:
                break
        if len(self._same) > _REMEMBERED:
            self._same.clear()
        self._same.update(question for question, difference in found.items() if difference is None)
        return found

    def _compare(self, questions: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Compare questions of which no two are of the same partition."""
        wanted: dict[str, dict[TopicPartition, int]] = {}
        for each in questions:
            wanted.setdefault(each.source, {})[each.place] = each.source_offset
            wanted.setdefault(each.target, {})[each.place] = each.target_offset
        read = {alias: self._read_at(alias, places) for alias, places in wanted.items()}
        return {each: self._difference(each, read) for each in questions}

    def _difference(
        self, question: RecordPair, read: Mapping[str, Mapping[TopicPartition, RecordContent] | ClusterError]
    ) -> str | None:
        records = []
        for alias in (question.source, question.target):
            answer = read[alias]
            record = None if isinstance(answer, ClusterError) else answer.get(question.place)
            if record is None:
                return f"its next record at {alias} could not be read to compare it"
            records.append(record)
        here, there = records
        identities = self._identity(question.source, here), self._identity(question.target, there)
        if None in identities:
            return "the next record's headers cannot be read"
        if identities[0] != identities[1]:
            return "the next record is another one on each side"
        for name in ("timestamp_ms", "key", "value"):
            if getattr(here, name) != getattr(there, name):
                return f"the next record has another {name.removesuffix('_ms')} on each side"
        return None

    def _identity(self, alias: str, record: RecordContent) -> tuple[str, int] | None:
        """Return (origin, offset there), None for a record whose headers cannot be read."""
        mirror, headers = self._config.mirror, dict(record.headers)  # of a repeated header the last one
        origin, offset = (headers.get(name) for name in (mirror.origin_header, mirror.offset_header))
        found = decode_identities(
            pa.array([origin], pa.binary()), pa.array([offset], pa.binary()), mirror.offset_encoding
        )
        if found.is_malformed[0]:
            return None
        if found.is_native[0]:
            return alias, record.offset
        name = found.origins[int(found.origin_code[0])]
        return self._config.origins().get(name, name), int(found.origin_offset[0])


def _rounds(questions: Collection[RecordPair]) -> Iterator[list[RecordPair]]:
    """Yield the questions in parts, in each of which a partition occurs once."""
    left = list(questions)
    while left:
        places: set[TopicPartition] = set()
        some, rest = list[RecordPair](), list[RecordPair]()
        for each in left:
            (rest if each.place in places else some).append(each)
            places.add(each.place)
        yield some
        left = rest
