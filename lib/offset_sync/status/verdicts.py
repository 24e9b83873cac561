"""What was decided of every key: rows as ``offset_translations`` has them, the newest of each direction and key.

A living ``sync_offsets`` has published them. Without one its code decides here, once more and without a lease.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.model.values import GroupPartition, Outcome, State
from offset_sync.state.cluster_metadata import Fetcher
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.heartbeat import is_living
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

_HELD = (Outcome.COMMITTED.name, Outcome.UNCHANGED.name)
Row = dict[str, Any]
Direction = tuple[str, str]
Directions = Mapping[Direction, Sequence[Row]]
"""The rows of ANSWERS_SCHEMA of each direction, sorted by partition, each with its ``key`` and its ``stream``."""


def wanted_of(row: Row) -> int | None:
    """Return the answer, None where it is withheld."""
    offset: int | None = None if State[row["state"]].is_withheld else row["target_offset"]
    return offset


def known_at_target(row: Row) -> int | None:
    """Return what the target is known to hold if it does not hold the answer."""
    offset: int | None = row["target_offset" if row["outcome"] in _HELD else "previous_target_offset"]
    return offset


def by_direction(rows: pa.Table, config: Config) -> Directions:
    """Return the *rows* that count under *config*."""
    rows = rows.filter(pc.not_equal(rows["outcome"], Outcome.GONE.name))
    is_included, strategy_of = cache(config.is_group_included), cache(config.strategy_of)
    found: dict[Direction, list[Row]] = {pair: [] for pair in config.pairs()}
    for row in rows.sort_by([(name, "ascending") for name in ("topic", "partition", "group_id")]).to_pylist():
        key = GroupPartition(row["group_id"], row["topic"], row["partition"])
        if is_included(key.group_id) and strategy_of(key.topic) != "off":
            pair = row["source_cluster"], row["target_cluster"]
            found.get(pair, []).append(row | {"stream": key.topic, "key": key})
    return {pair: each for pair, each in found.items() if each}


class PublishedVerdicts:
    """Follows what ``sync_offsets`` publishes in *tables*."""

    def __init__(self, tables: TableStore, config: Config) -> None:
        self._tables, self._config = tables, config
        self._known: tuple[pa.Table, int] | None = None
        self.is_present = False
        """Whether a driver was alive at the last reading."""

    def read(self, now_ms: int) -> pa.Table | None:
        """Return the newest rows; None where no driver is alive, as they may be of any time then."""
        claims = to_claims(self._tables.all_rows(DRIVERS))
        self.is_present = is_living(self._tables.files, self._config, claims, now_ms)
        return self.follow() if self.is_present else None

    def follow(self) -> pa.Table:
        """Return the newest rows, whatever has become of their driver."""
        if self._known is None:
            incarnations = CommitLogIncarnations(self._tables, self._config.polled())
            self._known = LastKnown(self._tables, self._config).read_answers(incarnations)
        rows, version = self._known
        added, version = self._tables.rows_since(OFFSET_TRANSLATIONS, version)
        self._known = fold_answers(rows, added) if added.num_rows else rows, version
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
        self._state.index.refresh()
        self._reconciler.reconcile_all(is_first=True, rows=keys)
        rows = [
            to_rows(each, np.arange(len(each.outcome)), self._state.offsets.keys, self._config) for each in self._done
        ]
        return _answers(rows)


def _answers(rows: Sequence[pa.Table]) -> pa.Table:
    names = [name for name in ANSWERS_SCHEMA.names if name in OFFSET_TRANSLATIONS.names]
    return pa.concat_tables([OFFSET_TRANSLATIONS.no_rows.select(names), *(each.select(names) for each in rows)])
