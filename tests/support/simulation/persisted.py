"""What outlives ``sync_offsets``: its checkpoints and the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fakes.files import memory_files
from offset_sync.config import Config
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations as Lives
from offset_sync.state.last_known import COMMITS_SCHEMA, is_over, without
from offset_sync.state.replay import fill_commits, restore_commits
from offset_sync.state.restore import ANSWERS_SCHEMA, fill_answers, fold_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from simulation.judge import Answered, extend, genuine
from simulation.knowledge import Knowledge, later
from simulation.logs import Position
from simulation.oracle import Violation
from simulation.reached import Reached

NO_ANSWERS = OFFSET_TRANSLATIONS.arrow_schema.empty_table()
FORGOTTEN_AFTER_MS = 10_000
"""Instead of the week after which a key that was deleted everywhere is forgotten."""
Offsets = dict[int, int]


class Plan(NamedTuple):
    """A micro-batch: what it reads of each partition of a log of commits, and whether that was all that there was."""

    number: int
    first: Offsets
    end: Offsets
    is_whole: bool = False


_NOTHING = Plan(0, {}, {})


@dataclass
class Checkpoint:
    """The *plan* that is in hand, or was *done* last; one that did not finish comes again."""

    plan: Plan = _NOTHING
    is_done: bool = True

    @property
    def position(self) -> Offsets:
        """Up to where the log was read, by partition."""
        return self.plan.end if self.is_done else self.plan.first

    @property
    def last_done(self) -> int:
        """The number of the last micro-batch that is done."""
        return self.plan.number - (not self.is_done)

    def is_read(self, ends: Sequence[int]) -> bool:
        return all(self.position.get(number, 0) >= end for number, end in enumerate(ends))

    def read_on(self, ends: Sequence[int], most: int) -> Plan | None:
        before = self.plan
        first = {number: before.end.get(number, 0) for number in range(len(ends))}
        if self.is_done and list(first.values()) != list(ends):
            end, left = {}, most
            for number, until in enumerate(ends):
                end[number] = min(until, first[number] + left)
                left -= max(end[number] - first[number], 0)
            self.plan, self.is_done = Plan(before.number + 1, first, end, left > 0), False
        return None if self.is_done else self.plan

    def poll(self) -> Plan:
        if self.is_done:
            self.plan, self.is_done = Plan(self.plan.number + 1, {}, {}, is_whole=True), False
        return self.plan

    def finish(self, number: int) -> None:
        """Note that a micro-batch is done; of one that another driver has done, and gone on from, nothing."""
        self.is_done |= self.plan.number == number


class Fold(NamedTuple):
    """What a start has folded: last commits and answers, of how many micro-batches and rows, and in which lives."""

    commits: pa.Table = COMMITS_SCHEMA.empty_table()
    batches: Mapping[str, int] = {}
    lives: Sequence[object] = ()
    answers: pa.Table = ANSWERS_SCHEMA.empty_table()
    answered: int = 0


Written = tuple[Any, list[bool]]
"""A micro-batch, and which of its commits are ours."""


class Persisted:
    """The checkpoints *of* clusters, and the history."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self.of = {alias: Checkpoint() for alias in clusters}
        self._other = {alias: Checkpoint() for alias in clusters}  # those that are not used
        self._commits: dict[str, dict[tuple[int, ...], Written]] = {alias: {} for alias in clusters}
        self._phase = dict.fromkeys(clusters, 0)  # so often the checkpoint was changed
        self.last: dict[Position, tuple[int, bool]] = {}  # what is written down, and whether ours
        self.placed: dict[Position, int] = {}  # the last offsets that are written down
        self.reach_of_polls: dict[str, Offsets] = {alias: {} for alias in clusters}  # by records of the log
        self._answers, self._fold = list[pa.Table](), Fold()
        self.forgotten: set[GroupPartition] = set()  # keys that the last start has dropped
        self._heard = Knowledge((), 0)
        self.answered: Answered = set()  # by whatever driver
        self.reached = Reached()
        self.is_held_back = False  # the job is started with --dry-run
        self.noted, self.epochs = memory_files(), count(1)  # what drivers note, and the number of the next

    def is_last_ours(self, where: Position) -> bool:
        """Return whether the last record of a key counts as ours, as far as it is written down."""
        return self.last.get(where, (0, True))[1]

    def recast(self, alias: str) -> None:
        """Use the checkpoint of polls instead of that of the log, or the other way round."""
        self.of[alias], self._other[alias] = self._other[alias], self.of[alias]
        self._phase[alias] += 1

    def between(self, alias: str, after: int, until: int) -> list[Written]:
        """Return the micro-batches between two, with which commits in them are ours."""
        written, phase = sorted(self._commits[alias].items()), self._phase[alias]
        return [each for (of, number, _), each in written if of == phase and after < number < until]

    def _tell(self, state: SyncState, alias: str, written: Written) -> None:
        batch, is_own = written
        key = state.offsets.ids(batch.keys)
        state.record_known(alias, batch.commit_records.with_key(key), np.array(is_own, np.bool_))
        captured_ms = int(batch.looked.at.timestamp() * 1000)
        np.maximum.at(state.offsets.clusters[alias].columns["captured_ms"], key, captured_ms)

    def note_commits(self, alias: str, batch: Any, is_own: list[bool]) -> None:
        """Take rows of offset_commits, once for each batch; where a log has begun another life by themselves."""
        again = len(self._commits[alias]) + 1 if batch.looked.begun else 0
        if batch.is_polled:  # the number of the poll
            again = int(batch.commit_records.log_offset.max(initial=0))
        number = self._phase[alias], batch.batch_id, again
        if number not in self._commits[alias]:
            self._commits[alias][number] = batch, is_own
            self._heard.note(alias, genuine(batch, is_own))
            for key, offset, is_ours in zip(batch.keys, batch.commit_records.offset.tolist(), is_own, strict=True):
                where = Position(alias, key.group_id, key.topic_partition)
                self.last[where] = offset, is_ours and offset != ABSENT
                if offset != ABSENT:
                    self.placed[where] = offset

    def tell(self, knowledge: Knowledge) -> None:
        """Tell what was written down of groups' own commits; of keys that were forgotten it may be known or not."""
        knowledge.last |= self._heard.last
        knowledge.by_log |= self._heard.by_log
        for each, at_ms in self._heard.newest.items():
            knowledge.newest[each] = later(at_ms, knowledge.newest.get(each, at_ms))

    def reach(self, alias: str, partition: int) -> int:
        """Return the offset after the last recorded commit, whatever is there now."""
        records = [each.commit_records for each, _ in self._commits[alias].values()]
        found = [each.log_offset[each.log_partition == partition].max(initial=-1) + 1 for each in records]
        return int(max(found, default=0))

    def reaches(self, alias: str) -> Offsets:
        """Return up to where the commits of every partition were written down in its present life."""
        found: Offsets = {}
        for _, (batch, _) in sorted(self._commits[alias].items()):
            extend(batch, found)
        return found

    def note_answers(self, answers: list[Reconciliation], keys: Sequence[GroupPartition], config: Config) -> None:
        """Take rows of offset_translations, as the history writes them."""
        for each in answers:
            chosen = each.is_news | (each.batch_id is not None)
            if not chosen.any():
                continue
            self._answers.append(to_rows(each, np.flatnonzero(chosen), keys, config))

    def restore(self, state: SyncState, lives: Lives) -> None:
        """Fill the *state* of a new driver as ``LastKnown`` does: by the start before's fold and what came since."""
        lives.refresh()
        fold = self._fold
        if fold.lives != lives.as_json():  # as they are after a log has begun another life, folds are not believed
            self.restore_commits(state, lives)
            fold = Fold()
        else:
            fill_commits(state, fold.commits, list(self._commits))
            for alias, batches in self._commits.items():
                lives.take(alias)
                state.offsets.clusters[alias].partitions = lives.partitions(alias)
                for _, written in sorted(batches.items())[fold.batches.get(alias, 0) :]:
                    self._tell(state, alias, written)
        answers = fold_answers(fold.answers, pa.concat_tables([NO_ANSWERS, *self._answers[fold.answered :]]))
        self._fold = self._folded(state, lives, answers)

    def restore_commits(self, state: SyncState, lives: Lives, only: Sequence[str] | None = None) -> None:
        """Fill *state*, or what it knows of some clusters, from the whole history."""
        history = list[dict[str, Any]]()
        for alias, batches in self._commits.items():
            history += [row for written in batches.values() for row in _to_rows(alias, *written)]
        rows = pa.Table.from_pylist(history, OFFSET_COMMITS.arrow_schema)
        tables: Any = SimpleNamespace(batches=lambda _table, names: [rows.select(names)])
        restore_commits(tables, state, lives, only)
        for where, last in self.last.items():
            here, (row,) = state.offsets.clusters[where.cluster], state.offsets.ids([where.key]).tolist()
            found = int(here.columns["actual_offset"][row]), bool(here.columns["actual_is_own"][row])
            if only is None and found != last and here.is_polled:
                raise Violation("restored", f"{where}: {found}, and {last} was written down last")

    def _folded(self, state: SyncState, lives: Lives, answers: pa.Table) -> Fold:
        rows = last_known.to_rows(state.offsets)
        fill_answers(state, answers)
        over = np.flatnonzero(is_over(state.offsets, FORGOTTEN_AFTER_MS)).tolist()
        gone = [state.offsets.keys[row] for row in over]
        self.forgotten = set(gone)
        for key in gone:
            for alias in self._commits:
                self._heard.last.pop((alias, *key), None)
                self.placed.pop(Position(alias, key.group_id, key.topic_partition), None)
        batches = {alias: len(each) for alias, each in self._commits.items()}
        return Fold(without(rows, gone), batches, lives.as_json(), without(answers, gone), len(self._answers))


_OF_RECORDS = ("offset", "is_tombstone", "committed_at_ms", "made_ms", "log_partition", "log_offset", "leader_epoch")


def _to_rows(alias: str, batch: Any, is_own: list[bool]) -> list[dict[str, Any]]:
    """Return the commits of *batch* as rows of offset_commits."""
    records = batch.commit_records
    columns = (getattr(records, name).tolist() for name in _OF_RECORDS)
    return [
        {
            **key._asdict(),
            "cluster": alias,
            "committed_offset": None if is_tombstone else offset,
            "is_tombstone": is_tombstone,
            "committed_at": (made_ms if batch.is_polled else at_ms) * 1000,
            "not_before": at_ms * 1000 if batch.is_polled and at_ms != ABSENT else None,
            "made_at": made_ms * 1000,
            "metadata": "",
            "topic_id": topic_id,
            "leader_epoch": None if epoch == ABSENT else epoch,
            "is_own": is_ours,
            "log_partition": log_partition,
            "log_offset": log_offset,
            "captured_at": batch.looked.at,
        }
        for key, is_ours, topic_id, offset, is_tombstone, at_ms, made_ms, log_partition, log_offset, epoch in zip(
            batch.keys, is_own, records.topic_id, *columns, strict=True
        )
    ]
