"""What was decided of every key: rows as ``offset_translations`` has them, the newest of each direction and key.

A living ``sync_offsets`` has published them. Without one its code decides here, once more and without a lease.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.values import ABSENT, GroupPartition, Outcome, State, TopicPartition
from offset_sync.state.cluster_metadata import Fetcher
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.heartbeat import Heartbeat, of_living
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import to_claims
from offset_sync.state.restore import ANSWERS_SCHEMA, fold_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.held_lists import ListHolder
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import DRIVERS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD

_HELD = (Outcome.COMMITTED.name, Outcome.UNCHANGED.name)


@dataclass(frozen=True)
class Verdicts:
    """The *rows* of ANSWERS_SCHEMA of one direction; every column has shape (rows,), ABSENT is null."""

    rows: pa.Table

    @cached_property
    def keys(self) -> list[GroupPartition]:
        """The key of each row, with its stream."""
        names = ("group_id", "topic", "partition")
        return [GroupPartition(*each) for each in zip(*(self.rows[name].to_pylist() for name in names), strict=True)]

    @cached_property
    def state(self) -> NDArray[np.intp]:
        """Codes of State."""
        return np.array([State[name] for name in self.rows["state"].to_pylist()], np.intp)

    @cached_property
    def wanted(self) -> Int64s:
        """The answers, ABSENT where there is none."""
        return np.where(IS_WITHHELD[self.state], ABSENT, self.numbers("target_offset"))

    @cached_property
    def previous(self) -> Int64s:
        """What each target is known to hold if it does not hold the answer."""
        is_held = pc.is_in(self.rows["outcome"], pa.array(_HELD)).to_numpy()
        return np.where(is_held, self.numbers("target_offset"), self.numbers("previous_target_offset"))

    def numbers(self, name: str, null: int = ABSENT) -> Int64s:
        """Return a column of counts or offsets."""
        return int64s(self.rows[name], null)

    def times_ms(self, name: str) -> Int64s:
        """Return a column of times, in ms since the epoch."""
        return int64s(self.rows[name].cast(pa.timestamp("ms", "UTC")), ABSENT)

    def texts(self, name: str) -> list[str | None]:
        """Return a column of texts."""
        found: list[str | None] = self.rows[name].to_pylist()
        return found

    def by_place(self) -> list[tuple[TopicPartition, slice]]:
        """Return each partition with its rows, which are next to each other."""
        places = [key.topic_partition for key in self.keys]
        borders = [n for n, place in enumerate(places) if n == 0 or places[n - 1] != place]
        return [
            (places[first], slice(first, end)) for first, end in zip(borders, [*borders[1:], len(places)], strict=True)
        ]

    @classmethod
    def by_direction(cls, rows: pa.Table, config: Config) -> dict[tuple[str, str], Verdicts]:
        """Return the *rows* that count under *config*, by direction, sorted by partition."""
        rows = rows.filter(pc.not_equal(rows["outcome"], Outcome.GONE.name))
        for name, is_included in (
            ("group_id", config.is_group_included),
            ("topic", lambda topic: config.strategy_of(topic) != "off"),
        ):
            known = [each for each in pc.unique(rows[name]).to_pylist() if is_included(each)]
            rows = rows.filter(pc.is_in(rows[name], pa.array(known, pa.string())))
        rows = rows.sort_by([(name, "ascending") for name in ("topic", "partition", "group_id")])
        found = {}
        for source, target in config.pairs():
            is_here = pc.and_(pc.equal(rows["source_cluster"], source), pc.equal(rows["target_cluster"], target))
            if (of_pair := rows.filter(is_here)).num_rows:
                found[source, target] = cls(of_pair)
        return found


class PublishedVerdicts:
    """Follows what ``sync_offsets`` publishes in *tables*."""

    def __init__(self, tables: TableStore, config: Config) -> None:
        self._tables, self._config = tables, config
        self._known: tuple[pa.Table, int] | None = None
        self.heartbeat: Heartbeat | None = None
        """Of the living driver at the last reading, if there was one."""

    def read(self, now_ms: int) -> pa.Table | None:
        """Return the newest rows; None where no driver is alive, as they may be of any time then."""
        claims = to_claims(self._tables.all_rows(DRIVERS))
        self.heartbeat = of_living(self._tables.files, self._config, claims, now_ms)
        if self.heartbeat is None:
            return None
        return self.follow()

    def follow(self) -> pa.Table:
        """Return the newest rows, whatever has become of their driver."""
        if self._known is None:
            incarnations = CommitLogIncarnations(self._tables, self._config.polled())
            self._known = LastKnown(self._tables, self._config).read_answers(incarnations)
        rows, version = self._known
        added, version = self._tables.rows_since(OFFSET_TRANSLATIONS, version)
        self._known = fold_answers(rows, added), version
        return self._known[0]


class OwnVerdicts:
    """Decides by *state* as ``sync_offsets`` does; *writers* must be dry: they only read the targets."""

    def __init__(
        self,
        config: Config,
        state: SyncState,
        fetcher: Fetcher,
        clusters: Mapping[str, ListHolder],
        writers: Mapping[str, OffsetWriter],
    ) -> None:
        self._config, self._state = config, state
        self._done: list[Reconciliation] = []
        lists = ReadLists(config, state, clusters)
        self._reconciler = Reconciler(config, state, fetcher, writers, self, lists)

    def append(self, reconciliation: Reconciliation) -> None:
        """Keep what a pass has decided."""
        self._done.append(reconciliation)

    def decide(self, keys: KeyRows) -> pa.Table:
        """Return the rows of *keys*, rows of the state."""
        self._done.clear()
        self._reconciler.reconcile_all(is_first=True, rows=keys)
        rows = [
            to_rows(each, np.arange(len(each.outcome)), self._state.offsets.keys, self._config) for each in self._done
        ]
        return _answers(rows)


def _answers(rows: Sequence[pa.Table]) -> pa.Table:
    names = [name for name in ANSWERS_SCHEMA.names if name in OFFSET_TRANSLATIONS.names]
    return pa.concat_tables([OFFSET_TRANSLATIONS.no_rows.select(names), *(each.select(names) for each in rows)])
