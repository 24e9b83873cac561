"""What outlives ``sync_offsets``: its checkpoints, the history and the notes of what it was about to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, GroupPartition, Outcome
from offset_sync.state import fold_rows
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.fold_rows import COMMITS_SCHEMA, is_over, without
from offset_sync.state.key_index import KeyRows
from offset_sync.state.own_writes import Intent
from offset_sync.state.restore import fill_commits
from offset_sync.state.restore_answers import ANSWERS_SCHEMA, fill_answers, fold_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from oracles.commit_lives import replay

_HELD = (Outcome.COMMITTED.name, Outcome.UNCHANGED.name)
NO_ANSWERS = OFFSET_TRANSLATIONS.arrow_schema.empty_table()
FORGOTTEN_AFTER_MS = 10_000


class MemoryIntents:
    """Notes of writes without our tag, as IntentLog keeps them."""

    def __init__(self) -> None:
        self.noted: dict[tuple[Any, ...], Intent] = {}
        self.inherited: set[tuple[Any, ...]] = set()

    def append(self, intents: Sequence[Intent]) -> list[Intent]:
        fresh = [each for each in intents if self.noted.get(each[:-1]) != each]
        for each in fresh:
            self.noted[each[:-1]] = each
            self.inherited.discard(each[:-1])
        return fresh

    def remove(self, intents: Iterable[Intent]) -> None:
        for each in intents:
            if self.noted.get(each[:-1]) == each or each[:-1] in self.inherited:
                self.noted.pop(each[:-1], None)
                self.inherited.discard(each[:-1])

    def unfinished(self, *, is_heir: bool = True) -> list[Intent]:
        self.inherited = set(self.noted)
        return list(self.noted.values())


class Fold(NamedTuple):
    """What a start has folded: last commits and answers, of how many micro-batches and rows, and in which lives."""

    commits: pa.Table
    batches: Mapping[str, int]
    lives: list[Any]
    answers: pa.Table
    answered: int


_NO_FOLD = Fold(COMMITS_SCHEMA.empty_table(), {}, [], ANSWERS_SCHEMA.empty_table(), 0)


class Persisted:
    """Checkpoints by cluster: batch id, first and end of what is planned or was done last."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self._plans: dict[str, tuple[int, int, int]] = dict.fromkeys(clusters, (0, 0, 0))
        self._is_done = dict.fromkeys(clusters, True)
        self._commits: dict[str, dict[tuple[int, int], tuple[Any, list[bool]]]] = {alias: {} for alias in clusters}
        self._answers: list[pa.Table] = []
        self._fold = _NO_FOLD
        self.forgotten: set[GroupPartition] = set()  # keys that the last start has dropped
        self.intents = MemoryIntents()

    def position(self, alias: str) -> int:
        """Return up to where the commits of *alias* were read."""
        _, first, end = self._plans[alias]
        return end if self._is_done[alias] else first

    def plan(self, alias: str, log_end: int, most: int) -> tuple[int, int, int] | None:
        """Return the next micro-batch: number, first, end; one that did not finish comes again."""
        if self._is_done[alias]:
            number, _, first = self._plans[alias]
            if log_end == first:
                return None
            self._plans[alias], self._is_done[alias] = (number + 1, first, min(log_end, first + most)), False
        return self._plans[alias]

    def planned(self, alias: str) -> tuple[int, int]:
        """Return from where to where the micro-batch in hand reads."""
        return self._plans[alias][1:]

    def finish(self, alias: str, batch_id: int) -> None:
        """Note that the micro-batch is done; of one that another driver has done, and gone on from, nothing."""
        self._is_done[alias] |= self._plans[alias][0] == batch_id

    def last_done(self, alias: str) -> int:
        """Return the number of the last micro-batch that is done."""
        return self._plans[alias][0] - (not self._is_done[alias])

    def restore_between(self, state: SyncState, alias: str, lives: CommitLogLives, after: int, until: int) -> KeyRows:
        """Have *state* know of what the micro-batches between two have read; return its rows."""
        lives.refresh()
        missed = [each for (number, _), each in sorted(self._commits[alias].items()) if after < number < until]
        if missed and lives.is_new(alias):
            self.restore_commits(state, alias, lives)
            return state.all_rows()
        return np.concatenate([np.empty(0, np.intp), *(self._tell(state, alias, each) for each in missed)])

    def _tell(self, state: SyncState, alias: str, written: tuple[Any, list[bool]]) -> KeyRows:
        batch, is_own = written
        key = state.offsets.ids(batch.keys)
        state.offsets.clusters[alias].record_told(batch.commit_records.with_key(key), np.array(is_own, np.bool_))
        return key

    def note_commits(self, alias: str, batch: Any, is_own: list[bool]) -> None:
        """Take rows of offset_commits, once for each batch; where a log has begun another life by themselves."""
        again = len(self._commits[alias]) + 1 if batch.looked.begun else 0
        self._commits[alias].setdefault((batch.batch_id, again), (batch, is_own))

    def reach(self, alias: str) -> int:
        """Return the offset after the last commit that was written down, whatever stands there now."""
        found = [each.commit_records.log_offset.max(initial=-1) + 1 for each, _ in self._commits[alias].values()]
        return int(max(found, default=0))

    def note_answers(
        self, answers: list[Reconciliation], keys: Sequence[GroupPartition], strategy_of: Callable[[str], str]
    ) -> None:
        """Take rows of offset_translations, as the history writes them."""
        for each in answers:
            chosen = each.is_news | (each.batch_id is not None)
            if not chosen.any():
                continue
            rows = to_rows(each, np.flatnonzero(chosen), keys, strategy_of)
            self._answers.append(rows)
            if self.intents.noted:
                names = ("target_cluster", "group_id", "topic", "partition", "target_offset")
                held = rows.filter(pc.is_in(rows.column("outcome"), pa.array(_HELD)))
                self.intents.remove(Intent(*each) for each in zip(*(held.column(n).to_pylist() for n in names)))

    def heard(self, alias: str) -> set[tuple[Any, ...]]:
        """Return the commits that were written down: group, topic, partition, offset and time."""
        batches = [(batch.keys, batch.commit_records) for batch, _ in self._commits[alias].values()]
        return {
            (*key, offset, at_ms)
            for keys, records in batches
            for key, offset, at_ms in zip(keys, records.offset.tolist(), records.committed_at_ms.tolist(), strict=True)
        }

    def restore(self, state: SyncState, lives: CommitLogLives) -> None:
        """Fill the *state* of a new driver as ``StartFolds`` does: by the start before's fold and what came since.

        Ten seconds stand for the week after which a key that was deleted everywhere is forgotten.
        """
        lives.refresh()
        # As they are after a log has begun another life, folds are not believed.
        fold = self._fold if self._fold.lives == lives.told() else _NO_FOLD
        fill_commits(state, fold.commits, list(self._commits))
        for alias, batches in self._commits.items():
            if fold is not _NO_FOLD:
                lives.take(alias)
            if lives.is_new(alias):
                self.restore_commits(state, alias, lives)
                continue
            for _, written in sorted(batches.items())[fold.batches.get(alias, 0) :]:
                self._tell(state, alias, written)
        answers = fold_answers(fold.answers, pa.concat_tables([NO_ANSWERS, *self._answers[fold.answered :]]))
        self._fold = self._folded(state, lives, answers)

    def _folded(self, state: SyncState, lives: CommitLogLives, answers: pa.Table) -> Fold:
        rows = fold_rows.to_rows(state.offsets)
        fill_answers(state, answers)
        over = np.flatnonzero(is_over(state.offsets, FORGOTTEN_AFTER_MS)).tolist()
        gone = [state.offsets.keys[row] for row in over]
        self.forgotten = set(gone)
        return Fold(
            without(rows, gone),
            {alias: len(batches) for alias, batches in self._commits.items()},
            lives.told(),
            without(answers, gone),
            len(self._answers),
        )

    def restore_commits(self, state: SyncState, alias: str, lives: CommitLogLives) -> None:
        """Have *state* know of a cluster what stands in its log, as ``restore_commits`` does by Spark."""
        rows = [row for batch, is_own in self._commits[alias].values() for row in _to_rows(alias, batch, is_own)]
        replay(state, alias, pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema), lives)
        lives.take(alias)


def _to_rows(alias: str, batch: Any, is_own: list[bool]) -> list[dict[str, Any]]:
    """Return the commits of *batch* as rows of offset_commits."""
    records = batch.commit_records
    return [
        {
            **key._asdict(),
            "cluster": alias,
            "committed_offset": None if is_tombstone else offset,
            "is_tombstone": is_tombstone,
            "committed_at": at_ms * 1000,
            "metadata": records.metadata[number],
            "topic_id": records.topic_id[number],
            "leader_epoch": None if (epoch := int(records.leader_epoch[number])) == ABSENT else epoch,
            "is_own": is_own[number],
            "log_partition": 0,
            "log_offset": log_offset,
            "captured_at": batch.looked.at,
        }
        for number, (key, offset, is_tombstone, at_ms, log_offset) in enumerate(
            zip(
                batch.keys,
                *(getattr(records, n).tolist() for n in ("offset", "is_tombstone", "committed_at_ms", "log_offset")),
                strict=True,
            )
        )
    ]
