"""Offsets that no group has committed, translated like commits; whatever withholds a commit withholds these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, State, TopicPartition
from offset_sync.state.given_translator import GivenTranslator
from offset_sync.state.snapshot import Snapshot, frontiers
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.status.kept_offsets import KeptAnswers, KeptOffsets
from offset_sync.status.read_epochs import Clusters, ReadEpochs
from offset_sync.status.reporter import CatchUp
from offset_sync.status.withheld_reasons import WithheldReasons
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.partition import IS_WITHHELD, Translations, withhold, withhold_some


class OffsetTranslation:
    """Translates offsets by what *state* knows and *clusters* say; *catch_up* waits a moment for the index.

    No group is involved, so nothing is owned, written or remembered. An offset is believed to be what its keeper says:
    everything below it is read. Where the source's log is known to have begun another life since the tables exist, one
    that is not known to be younger is withheld. A life that began before the tables, or one that nobody has noticed of
    a source that is not asked, cannot be told.
    """

    def __init__(self, config: Config, state: SyncState, clusters: Clusters, catch_up: CatchUp) -> None:
        self._config, self._state, self._clusters, self._catch_up = config, state, clusters, catch_up
        self._translator = Translator(config, state)
        self._given = GivenTranslator(config, state, self._translator)

    def translate(
        self,
        pair: tuple[str, str],
        offsets: KeptOffsets,
        *,
        is_source_lost: bool = False,
        tell: Callable[[int], None] = lambda done: None,
    ) -> KeptAnswers:
        """Return one answer per offset from source to target; *tell* hears how many more there are each time.

        *is_source_lost*: the source need not answer; then what the tables remember of it counts. Else everything is
        withheld while it is silent. Errs to earlier answers and to withholding.
        """
        answers, rows_of = KeptAnswers(len(offsets)), list(offsets.by_partition())
        snapshot = self._ask(pair, [partition for partition, _ in rows_of])
        reasons = WithheldReasons(pair, self._given, self._translator, self._state, snapshot)
        epochs = self._epochs(pair[0], offsets, rows_of, snapshot)
        for partition, rows in rows_of:
            given = offsets.given(rows)
            found = self._withheld(pair, partition, len(rows), snapshot, is_source_lost=is_source_lost)
            if found is None:
                found = self._given.translate(pair, partition, given, snapshot, self._state.now_ms())
                found = withhold_some(found, np.where(found.is_withheld, ABSENT, epochs.reasons(partition, given)))
            answers.put(rows, found)
            for state, of_state in _withheld_rows(found):
                some = GivenOffsets(given.offset[of_state], given.at_ms[of_state], given.leader_epoch[of_state], ())
                why = epochs.why(state, partition, some) or reasons.of(state, partition, some)
                answers.explain(rows[of_state], why)
            tell(len(rows))
        return answers

    def _ask(self, pair: tuple[str, str], partitions: list[TopicPartition]) -> Snapshot:
        source, target = pair
        wanted = {each for each in partitions if self._config.is_topic_included(each.topic)}
        self._state.index.refresh()
        with self._state.lock:
            known_to = frontiers(self._state.index, pair, wanted)
        asked_at_ms = self._state.now_ms()
        metadata = self._clusters.fetch([target, source], wanted)
        self._catch_up.wait(metadata)
        return Snapshot(metadata, known_to, asked_at_ms)

    def _epochs(
        self,
        source: str,
        offsets: KeptOffsets,
        rows_of: list[tuple[TopicPartition, NDArray[np.intp]]],
        snapshot: Snapshot,
    ) -> ReadEpochs:
        """Return who judges the leader epochs that *offsets* name, when the source's leaders have answered."""
        found = ReadEpochs(source, self._clusters, self._state.index, snapshot, self._state.now_ms())
        wanted: dict[TopicPartition, set[int]] = {}
        for partition, rows in rows_of:
            wanted.setdefault(partition, set()).update(np.unique(offsets.leader_epoch[rows]).tolist())
        found.ask(wanted)
        return found

    def _withheld(
        self, pair: tuple[str, str], partition: TopicPartition, count: int, snapshot: Snapshot, *, is_source_lost: bool
    ) -> Translations | None:
        """Return *count* rows without an answer where not even a commit could stand; None where one could."""
        if not self._config.is_topic_included(partition.topic):
            return withhold(State.TOPIC_NOT_INCLUDED, count)
        said = snapshot.metadata[pair[0]]
        if isinstance(said, ClusterError):
            return None if is_source_lost else withhold(State.CLUSTER_UNREACHABLE, count)
        topic = said.topics.get(partition.topic)
        if topic is not None and partition.partition >= topic.partitions:
            return withhold(State.PARTITION_MISSING, count)
        if self._translator.view(pair[0], partition, snapshot) is None:
            return withhold(State.CLUSTER_UNREACHABLE, count)
        return None


def _withheld_rows(found: Translations) -> list[tuple[State, NDArray[np.intp]]]:
    states = np.unique(found.state[IS_WITHHELD[found.state]])
    return [(State(code), np.flatnonzero(found.state == code)) for code in states.tolist()]
