"""What open transactions hold back in ``__consumer_offsets``, and whose they are.

Readers of committed records get no further than the last stable offset of a partition, where the oldest open
transaction begins; what others have committed behind it is decided and held back all the same. Uncommitted reading
tells whose offsets these are. It does not tell which producer they are of (librdkafka hides the batches' headers), so
the log of the coordinators of transactions is read from shortly before on.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress

from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.offset_records import decode_commit_key
from offset_sync.decode.other_logs import TransactionState, decode_transaction, decode_transactional_id
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.range_reader import OffsetRange, RangeReader
from offset_sync.kafka.tail_reader import TailReader
from offset_sync.kafka.topic_metadata import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.held_commits import HeldCommits, OpenTransaction
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition, TopicPartition

TRANSACTIONS = "__transaction_state"
DEADLINE_S = 6.0
_SILENCE_S = 2.0
_MARGIN_MS = 60_000
"""A transaction is written down by its coordinator before its first record is; clocks of brokers differ."""


class HeldCommitsReader:
    """Reads from the cluster of *admin*; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin, self._times = admin, TailReader(admin.alias, options)
        self._committed = RangeReader(admin.alias, options, _SILENCE_S)
        self._uncommitted = RangeReader(admin.alias, {**options, "isolation.level": "read_uncommitted"}, _SILENCE_S)

    def read(self, partitions: Collection[int], deadline: float = DEADLINE_S) -> dict[int, HeldCommits]:
        """Return what is held back in those of *partitions* where a transaction is open.

        Raises ClusterError where the cluster does not answer. Errs to keys that are not known and producers that are
        not named, within *deadline* (seconds).
        """
        ends_at = time.monotonic() + deadline
        reaches = self._admin.reaches(lambda name: name == CONSUMER_OFFSETS, deadline)
        found: dict[int, HeldCommits] = {}
        for place, reach in reaches.items():
            if place.partition in partitions and reach.stable < reach.high:
                keys, since_ms = self._keys(place, reach, ends_at)
                open_ones = self._open_in(place, since_ms, ends_at) if since_ms is not None else ()
                found[place.partition] = HeldCommits(place.partition, reach.stable, reach.high, keys, open_ones)
        return found

    def _keys(
        self, place: TopicPartition, reach: Reach, ends_at: float
    ) -> tuple[frozenset[GroupPartition] | None, int | None]:
        """Return the keys of all commits that are held back, None if not all can be read, and the time of the first."""
        keys: set[GroupPartition] = set()
        since_ms: int | None = None
        try:
            for chunk in self._uncommitted.read({place: OffsetRange(reach.stable, reach.high)}):
                for _, record in chunk:
                    since_ms = record.timestamp_ms if since_ms is None else since_ms
                    with suppress(DecodeError):  # which sync_offsets puts into quarantine
                        if record.key is not None and (key := decode_commit_key(record.key)) is not None:
                            keys.add(GroupPartition(*key))
                if time.monotonic() > ends_at:
                    return None, since_ms
        except ClusterError:  # as where we may not read it
            return None, since_ms
        return frozenset(keys), since_ms

    def _open_in(self, place: TopicPartition, since_ms: int, ends_at: float) -> tuple[OpenTransaction, ...]:
        """Return the transactions that are open in *place*, the oldest first; none where that cannot be told."""
        states: dict[str, TransactionState | None] = {}
        try:
            for chunk in self._committed.read(self._log_since(since_ms - _MARGIN_MS)):
                for _, record in chunk:
                    if record.key is not None:
                        state = decode_transaction(record.key, record.value) if record.value is not None else None
                        states[decode_transactional_id(record.key)] = state
                if time.monotonic() > ends_at:
                    return ()
        except (ClusterError, DecodeError):
            return ()
        found = [each for each in states.values() if each is not None and tuple(place) in each.partitions]
        transactions = [OpenTransaction(each.transactional_id, each.producer_id, each.started_at_ms) for each in found]
        return tuple(sorted(transactions, key=lambda each: each.started_at_ms))

    def _log_since(self, at_ms: int) -> dict[TopicPartition, OffsetRange]:
        """Return what the coordinators of transactions have written since; raises ClusterError."""
        count = self._admin.partition_count(TRANSACTIONS, _SILENCE_S) or 0
        first = self._times.offsets_at({TopicPartition(TRANSACTIONS, each): at_ms for each in range(count)}, _SILENCE_S)
        ends = self._admin.ends(first, _SILENCE_S)
        return {place: OffsetRange(first[place], end.log_end) for place, end in ends.items()}
