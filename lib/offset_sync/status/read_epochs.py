"""Given offsets that name the leader epoch of their last record: did that record survive the elections since?

The rows that say it of commits go after a week (``state/retired_elections.py``), for no commit needs them any more. So
the source's leader is asked where the epoch ended, as Kafka's own consumers ask (KIP-320)::

    the leader's log     epoch 3: 0 ... 99    epoch 5: 100 ... 149    epoch 8: 150 ...
    120, read in epoch 4       the records of epochs up to 4 end at 100: what it says was read is gone

Where the log has deleted all of an epoch, and of a lost source, nobody can be asked. Then the rows have to do, which
are all there for what was taken within the week. Errs to withholding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.text import visible
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, EpochChange, State, TopicPartition
from offset_sync.state.cluster_metadata import Ends
from offset_sync.state.retired_elections import KEPT
from offset_sync.state.snapshot import Index, MetadataByCluster, Snapshot
from offset_sync.translate.given_offsets import GivenOffsets

_KEPT_MS = int(KEPT.total_seconds() * 1000)
_Epochs = Mapping[TopicPartition, "set[int]"]


class Clusters(Protocol):
    """Who asks the clusters, see :class:`offset_sync.status.cluster_queries.ClusterQueries`."""

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return what each cluster says of *partitions*, or why it said nothing."""

    def epoch_ends(self, alias: str, epochs: Mapping[TopicPartition, EpochChange]) -> Mapping[TopicPartition, int]:
        """Return the first offset after the records of each epoch, of logs whose leaders answer."""


class _Log(NamedTuple):
    """A log of the source: its *ends* as the leader says (None: nobody does), and where epochs *ended*, by epoch."""

    place: ClusterPartition
    ends: Ends | None
    ended: Mapping[int, int]


class ReadEpochs:
    """Judges offsets at *source*; *index* says under which leader its logs were looked at last, *now_ms* is now."""

    def __init__(self, source: str, clusters: Clusters, index: Index, snapshot: Snapshot, now_ms: int) -> None:
        self._source, self._clusters, self._index = source, clusters, index
        self._said, self._now_ms = snapshot.metadata[source], now_ms
        self._ended: dict[TopicPartition, dict[int, int]] = {}

    def ask(self, wanted: _Epochs) -> None:
        """Ask where those of the *wanted* epochs ended that are over, each leader once per epoch; ABSENT is none."""
        ends = {} if isinstance(self._said, ClusterError) else self._said.ends
        now = {each: ends[each].leader_epoch for each in wanted if each in ends}
        left = {
            each: sorted(epoch for epoch in wanted[each] if ABSENT < epoch < epoch_now)
            for each, epoch_now in now.items()
            if epoch_now is not None
        }
        while left := {each: epochs for each, epochs in left.items() if epochs}:
            asked = {
                each: EpochChange(epochs.pop(), int(now[each] or 0), self._index.epoch_ends(self._log(each).place))
                for each, epochs in left.items()
            }
            told = self._clusters.epoch_ends(self._source, asked)
            for each, end in told.items():
                self._ended.setdefault(each, {})[asked[each].known] = end
            left = {each: epochs for each, epochs in left.items() if each in told}  # who is silent is so once

    def reasons(self, partition: TopicPartition, given: GivenOffsets) -> NDArray[np.intp]:
        """Return the code of the reason to withhold each offset that is *given* of a partition, ABSENT for none."""
        reasons = np.full(len(given.offset), ABSENT, np.intp)
        log = self._log(partition)
        for epoch in np.unique(given.leader_epoch[given.leader_epoch != ABSENT]).tolist():
            rows = np.flatnonzero(given.leader_epoch == epoch)
            reasons[rows] = self._of_epoch(log, epoch, given.offset[rows], given.at_ms[rows])
        return reasons

    def why(self, state: State, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return what to say of offsets *given* that are withheld as *state*, empty where no epoch is the reason."""
        is_mine = (self.reasons(partition, given) == state) & (given.leader_epoch != ABSENT)
        if len(is_mine) == 0 or not is_mine.all() or state is State.CLUSTER_UNREACHABLE:
            return ""
        log, source, epoch = self._log(partition), self._source, int(given.leader_epoch.max())
        name = f"{visible(partition.topic)}-{partition.partition}"
        if state is State.TOPIC_RECREATED:
            return f"{name} has had no leader epoch {epoch:,} at {source}: another topic, or of before it was made anew"
        if log.ends is not None and (given.offset > log.ended.get(epoch, int(given.offset.max()))).all():
            end = log.ended[epoch]
            return (
                f"{name} has lost what leader epoch {epoch:,} had from {end:,} on at {source}, in an election; "
                f"translate {end:,} without an epoch, which repeats what came later"
            )
        since = datetime.fromtimestamp(-(-self._known_since_ms() // 1000), timezone.utc)
        return (
            f"nobody knows any more whether {name} has lost records of leader epoch {epoch:,} at {source}; "
            f"if the offset was taken after {since:%Y-%m-%dT%H:%M:%SZ}, give that time (--taken-at)"
        )

    def _log(self, partition: TopicPartition) -> _Log:
        ends = None if isinstance(self._said, ClusterError) else self._said.ends.get(partition)
        return _Log(ClusterPartition(self._source, *partition), ends, self._ended.get(partition, {}))

    def _of_epoch(self, log: _Log, epoch: int, offset: NDArray[np.int64], at_ms: NDArray[np.int64]) -> NDArray[np.intp]:
        nobody_knows = np.where(at_ms < self._known_since_ms(), int(State.LOG_TRUNCATED), ABSENT)
        if log.ends is None or log.ends.leader_epoch is None:
            known = self._index.leader_epoch(log.place)
            # Under the leader that it was looked at last no row of an election can be missing.
            return np.full(len(offset), ABSENT, np.intp) if known is not None and epoch >= known[1] else nobody_knows
        if epoch >= log.ends.leader_epoch:
            return np.full(len(offset), State.TOPIC_RECREATED if epoch > log.ends.leader_epoch else ABSENT, np.intp)
        if epoch not in log.ended:
            return np.full(len(offset), State.CLUSTER_UNREACHABLE, np.intp)
        # Of epochs that retention has deleted the leader says that they end where its log begins.
        is_deleted = log.ended[epoch] <= log.ends.log_start
        known_or_not = nobody_knows if is_deleted else np.full(len(offset), ABSENT, np.intp)
        return np.where(offset > log.ended[epoch], int(State.LOG_TRUNCATED), known_or_not)

    def _known_since_ms(self) -> int:
        """Return from when on every election is known, whoever has removed rows and by what clock."""
        return self._now_ms - _KEPT_MS + 2 * CLOCKS_APART_MS
