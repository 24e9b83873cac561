"""Offsets that no group has committed, translated as commits are, and withheld where nobody can vouch for them."""

from __future__ import annotations

import numpy as np

from offset_sync.config import Config
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.key_index import KeyRows
from offset_sync.state.snapshot import Snapshot, known_end
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translation import Pair
from offset_sync.state.translator import Translator
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition import Translations, withhold_some


class GivenTranslator:
    """Translates what it is given, by what *state* knows and as *translator* does."""

    def __init__(self, config: Config, state: SyncState, translator: Translator) -> None:
        self._clusters, self._state, self._translator = tuple(config.clusters), state, translator

    def translate(
        self, pair: tuple[str, str], partition: TopicPartition, given: GivenOffsets, snapshot: Snapshot, now_ms: int
    ) -> Translations:
        """Return one answer per offset of *partition* that is *given*; *pair* is (source, target).

        It needs no owner, and the next answers learn nothing from it. Of a source that is silent what was last known
        holds, and an offset above all that is known of its log is withheld, unless it was made after the index had last
        read all that stood there.
        """
        with self._state.lock:
            shared = Pair(self._state.last(*pair), *pair, snapshot, now_ms)
        asked = self._translator.ask_given(shared, partition, given)
        self._translator.compute(asked)
        with self._state.lock:
            answers = self._translator.answers(asked)
            question = asked.questions[0]
            if question.withheld is None and question.is_silent:
                self._state.keys.fit()
                keys = self._state.keys.keys_in(partition)
                answers = withhold_some(answers, self._beyond_all_known(pair[0], partition, given))
                log = self._state.index.log(pair[0], *partition)
                answers = withhold_some(
                    answers, shared.last.source.reasons_for_given(partition, keys, given.offset, log)
                )
            return answers

    def known_end(self, cluster: str, partition: TopicPartition) -> int:
        """Return the first offset of a log above all that any cluster's index knows of it."""
        return known_end(self._state.index, self._clusters, ClusterPartition(cluster, *partition))

    def _beyond_all_known(self, source: str, partition: TopicPartition, given: GivenOffsets) -> KeyRows:
        log = self._state.index.log(source, *partition)
        complete_ms = log.complete_until_ms if log is not None else 0
        # A clock that is ahead would prove what is not so, and where nobody knows when all was read nothing is proved.
        may_be_newer = (complete_ms > 0) & (given.at_ms > complete_ms + CLOCKS_APART_MS)
        # No log is that long; from there on what is unread would count as read.
        is_impossible = given.offset >= NO_LIMIT
        is_beyond = is_impossible | ((given.offset > self.known_end(source, partition)) & ~may_be_newer)
        return np.where(is_beyond, int(State.COMMIT_BEYOND_END), ABSENT)
