"""Translates and measures the keys of one pair of clusters; a partition in which nothing has changed is not redone."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from offset_sync.config import Config
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyIndex
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.snapshot import Commits, Index, Snapshot
from offset_sync.state.translator import Translator
from offset_sync.status.log_comparison import NO_END, LogComparison, LogPair, compare_logs
from offset_sync.status.measure import NOBODY_KNOWS, Measured, end_of, measure
from offset_sync.status.rows import Found
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations, concatenate
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.strategies import is_stamped


@dataclass(frozen=True)
class _Known:
    """What was found out about a partition, and from what."""

    version: Hashable
    answers: Translations
    measured: Measured


@dataclass(frozen=True)
class _Scene:
    """What is the same for all partitions of a pair."""

    source: str
    target: str
    seen: Snapshot
    now_ms: int
    origins: Mapping[int, str]


class Assessor:
    """Assesses keys of *book*; whoever calls it holds the lock that guards the book and the index."""

    def __init__(
        self, config: Config, book: CommittedOffsets, places: KeyIndex, index: Index, translator: Translator
    ) -> None:
        self._config = config
        self._book = book
        self._places = places
        self._index = index
        self._translator = translator
        self._pairs = {pair: LastTranslations() for pair in config.pairs()}
        self._holdings: dict[tuple[str, str, TopicPartition], tuple[Hashable, LogComparison]] = {}
        self._known: dict[tuple[str, str, TopicPartition], _Known] = {}

    def assess(self, source: str, target: str, commits: Commits, seen: Snapshot, now_ms: int) -> Found:
        """Translate and measure what *source*'s *commits* cost at *target*, where its groups stand there."""
        self._pairs[source, target].columns.fit(len(self._book.keys))
        there = self._book.clusters[target].columns
        standing = np.where(there["is_deleted"][commits.key], -1, there["actual_offset"][commits.key])
        origins = {self._index.code(alias): alias for alias in self._config.clusters}
        scene = _Scene(source, target, seen, now_ms, origins)
        parts = [
            self._of_place(
                scene, place, Commits(commits.key[rows], commits.offset[rows], commits.at_ms[rows]), standing[rows]
            )
            for place, rows in self._places.slices(commits.key)
        ]
        answers = concatenate([part.answers for part in parts])
        keys = [self._book.keys[key] for key in commits.key.tolist()]
        return Found(
            source, target, keys, commits, answers, standing, Measured.joined([part.measured for part in parts])
        )

    def _of_place(self, scene: _Scene, place: TopicPartition, commits: Commits, standing: Int64s) -> _Known:
        where = (scene.source, scene.target, place)
        sides = self._sides(scene, place)
        topic_id = self._book.clusters[scene.source].topic_id
        version = (
            sides.version(), self._told(scene.source, place, sides.source_view),
            self._told(scene.target, place, sides.target_view), commits.key.tobytes(),
            commits.offset.tobytes(), standing.tobytes(), tuple(topic_id.get(key) for key in commits.key.tolist()),
        )  # fmt: skip
        known = self._known.get(where)
        if known is not None and known.version == version:
            return known
        pair = self._pairs[scene.source, scene.target]
        answers = self._translator.translate(pair, scene.source, scene.target, commits, scene.seen, scene.now_ms)
        held = self._held(where, sides)
        found = _Known(version, answers, measure(sides, held, commits.offset, answers.wanted, standing))
        # Young holes grow old, and topics become idle, with time alone.
        if not held.is_settling and self._config.strategy_of(place.topic) == "exact":
            self._known[where] = found
        return found

    def _sides(self, scene: _Scene, place: TopicPartition) -> LogPair:
        aliases = (scene.source, scene.target)
        here, there = (self._translator.view(alias, place, scene.seen) for alias in aliases)
        logs = [self._index.log(alias, place.topic, place.partition) for alias in aliases]
        codes = [self._index.code(alias) for alias in aliases]
        sides = LogPair(
            source_code=codes[0],
            target_code=codes[1],
            source=LogPair.log_of(logs[0], here),
            target=LogPair.log_of(logs[1], there),
            source_view=here,
            target_view=there,
            origins=scene.origins,
            young_since_ms=scene.now_ms - _ms(self._config.sync.hole_grace),
            share_since_ms=scene.now_ms - _ms(self._config.status.shape_window),
            # Under load the index goes on; what is behind the end that was asked for would never stop being late.
            source_until=NO_END if end_of(here) == NOBODY_KNOWS else end_of(here),
        )
        pair = PartitionLog(sides.source, codes[0]), PartitionLog(sides.target, codes[1])
        is_told_apart = not self._config.is_timed(place.topic) or is_stamped(*pair)
        return sides if is_told_apart else replace(sides, is_unstamped=True)

    def _held(self, where: tuple[str, str, TopicPartition], sides: LogPair) -> LogComparison:
        """Compare the logs of a partition, where either has grown since they were compared last."""
        known = self._holdings.get(where)
        if known is None or known[0] != sides.version() or known[1].is_settling:
            known = self._holdings[where] = sides.version(), compare_logs(sides)
        return known[1]

    def _told(self, alias: str, place: TopicPartition, view: PartitionMetadata | None) -> Hashable:
        """Return what a cluster has said of a partition, and the index of its topic."""
        indexed = frozenset(self._index.topic_ids(alias, place.topic)), self._index.partitions(alias, place.topic)
        if view is None:
            return indexed
        return indexed, view.is_refused, view.topic_id, view.partitions, view.log_start, view.log_end


def _ms(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)
