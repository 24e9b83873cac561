"""Records that groups with read lists have read above their answers, and those not replicated to the target yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, ClusterPartition
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Pair, Question, Translation, Translator
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.read_list import FoundList, pending, read_list
from offset_sync.translate.replication_gap import OffsetRanges


def are_named(state: SyncState, rows: KeyRows, is_named: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Return which *rows* belong to named groups."""
    keys = state.offsets.keys
    return np.fromiter((is_named(keys[row].group_id) for row in rows.tolist()), np.bool_, len(rows))


class Crossing(NamedTuple):
    """The read list above an answer (*found*), and by origin the source's offsets of read records still *pending*."""

    found: FoundList
    pending: Mapping[int, OffsetRanges]


class Crossings:
    """The crossings of the keys *named* in one translation by *pair*; create it before asking the translation.

    A list carries the last verified leader epoch of the target's log. The epoch must be taken before the index view,
    which no longer has records truncated in between.
    """

    def __init__(
        self, state: SyncState, translator: Translator, pair: Pair, named: KeyRows, is_named: Callable[[str], bool]
    ) -> None:
        self._pair, self._translator, self._is_named = pair, translator, is_named
        self._keys, self._young_since_ms = state.offsets.keys, translator.young_since_ms(pair.now_ms)
        with state.lock:
            known = {
                each: state.index.leader_epoch(ClusterPartition(pair.target, *each))
                for each in state.keys.partitions_of(named)
            }
        self._epochs = {each: epoch[1] if epoch is not None else ABSENT for each, epoch in known.items()}
        self._found: dict[int, tuple[Question, dict[int, Crossing]]] = {}

    def find(self, asked: Translation) -> None:
        """Build the lists of computed questions that have none yet; takes as long as the logs are deep."""
        for each in asked.questions if self._epochs else ():
            if each.answers is not None and id(each) not in self._found:
                self._found[id(each)] = each, self._of(each)

    def by_row(self, asked: Translation) -> dict[int, Crossing]:
        """Return them by row, in the order asked, including recomputed questions; valid as long as the answers are."""
        self.find(asked)
        found, first = dict[int, Crossing](), 0
        for each in asked.questions:
            _, crossings = self._found.get(id(each), (each, {}))
            found |= {first + row: crossing for row, crossing in crossings.items()}
            first += len(each.given.offset)
        return found

    def _of(self, question: Question) -> dict[int, Crossing]:
        try:
            return self._crossings(question)
        except Exception as problem:  # the answers are still valid; without a list everything is read
            self._translator.log_once(self._pair, question.partition, problem, "is translated without a read list")
            return {}

    def _crossings(self, question: Question) -> dict[int, Crossing]:
        if question.logs is None or question.answers is None or question.partition not in self._epochs:
            return {}
        found, (here, there), answers = dict[int, Crossing](), question.logs, question.answers
        for row in np.flatnonzero(~IS_WITHHELD[answers.state]).tolist():
            if self._is_named(self._keys[int(question.key[row])].group_id):
                committed, start = int(question.given.offset[row]), int(answers.wanted[row])
                records = read_list(committed, start, here, there, leader_epoch=self._epochs[question.partition])
                found[row] = Crossing(records, pending(committed, here, there, self._young_since_ms))
        return found
