"""Why a given offset has no answer, in a sentence for people, with the remedy.

Offsets may name the leader epoch of their last record: did that record survive the elections since? The rows that
record elections are deleted after a week (``state/incarnations.py``), when no commit needs them any more. So the leader
at the source is asked where the epoch ended, as Kafka's own consumers do (KIP-320)::

    the leader's log     epoch 3: 0 ... 99    epoch 5: 100 ... 149    epoch 8: 150 ...
    120, read in epoch 4       the records of epochs up to 4 end at 100: records 100 ... 119 were truncated

For an epoch deleted by retention, and for a lost source, no leader can answer. Then the rows are used, which are
complete for offsets taken within the week. Errs to withholding.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.text import visible
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, EpochChange, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.incarnations import KEPT
from offset_sync.state.sync_state import Index, SyncState, known_end
from offset_sync.state.translator import Translator
from offset_sync.status.cluster_queries import ClusterQueries
from offset_sync.translate.partition_log import GivenOffsets, reason_of, reason_of_target

_KEPT_MS = int(KEPT.total_seconds() * 1000)
_Epochs = Mapping[TopicPartition, "set[int]"]


_TEXTS = {
    State.TOPIC_NOT_INCLUDED: "topics.include does not match this topic; add it, and let index_records read the topic",
    State.NOT_INDEXED: "the record index does not cover this offset; is index_records running? It may have started "
    "later (index.starting: latest)",
    State.STRATEGY_REFUSED: "the topic's strategy could lose records; use exact",
    State.COPY_WRITTEN: "another client wrote into a copy, so equal offsets are different records; recreate the copy, "
    "or index the topic again if its strategy has changed",
    State.NO_REFERENCE: "the topic's strategy has no mirrored record to translate by; wait for one, or use exact",
    State.TRANSLATION_FAILED: "an error in Offset Sync itself; the log has its stack trace, please report it",
    State.AMBIGUOUS: "fewer than 1 in 1,000 copies have unique contents; have the mirror stamp headers",
    State.MIRROR_ALTERS_RECORDS: "more than 1 in 1,000 copies match no original: the mirror alters records (see "
    "mirror.keeps), or another client writes into the copy; have the mirror stamp headers",
    State.LOG_TRUNCATED: "a log was truncated after it was indexed; let index_records read it again",
}


class _Log(NamedTuple):
    """A log of the source: its *ends* by its leader (None: no answer), and where epochs *ended*, by epoch."""

    place: ClusterPartition
    ends: LogEnds | None
    ended: Mapping[int, int]


class ReadEpochs:
    """Checks offsets at *source*; *index* has the leader epoch last seen of its logs, *now_ms* is now."""

    def __init__(self, source: str, clusters: ClusterQueries, index: Index, snapshot: Snapshot, now_ms: int) -> None:
        self._source, self._clusters, self._index = source, clusters, index
        self._said, self._now_ms = snapshot.metadata[source], now_ms
        self._ended: dict[TopicPartition, dict[int, int]] = {}

    def ask(self, wanted: _Epochs) -> None:
        """Ask where those of the *wanted* epochs that are over ended, each leader once per epoch; ABSENT is none."""
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
            found = self._clusters.epoch_ends(self._source, asked)
            for each, end in found.items():
                self._ended.setdefault(each, {})[asked[each].known] = end
            # A silent leader is not asked again.
            left = {each: epochs for each, epochs in left.items() if each in found}

    def reasons(self, partition: TopicPartition, given: GivenOffsets) -> NDArray[np.intp]:
        """Return the code of the reason to withhold each *given* offset of a partition, ABSENT for none."""
        reasons = np.full(len(given.offset), ABSENT, np.intp)
        log = self._log(partition)
        for epoch in np.unique(given.leader_epoch[given.leader_epoch != ABSENT]).tolist():
            rows = np.flatnonzero(given.leader_epoch == epoch)
            reasons[rows] = self._of_epoch(log, epoch, given.offset[rows], given.at_ms[rows])
        return reasons

    def why(self, state: State, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return the reason of *given* offsets that are withheld as *state*, empty where no epoch is the reason."""
        is_mine = (self.reasons(partition, given) == state) & (given.leader_epoch != ABSENT)
        if len(is_mine) == 0 or not is_mine.all() or state is State.CLUSTER_UNREACHABLE:
            return ""
        log, source, epoch = self._log(partition), self._source, int(given.leader_epoch.max())
        name = f"{visible(partition.topic)}-{partition.partition}"
        if state is State.TOPIC_RECREATED:
            return (
                f"{name} has had no leader epoch {epoch:,} at {source}: the offset is of another topic, or from before "
                "the topic was recreated"
            )
        if log.ends is not None and (given.offset > log.ended.get(epoch, int(given.offset.max()))).all():
            end = log.ended[epoch]
            return (
                f"{name} lost the records of leader epoch {epoch:,} from {end:,} on at {source}, in an election; "
                f"translate {end:,} without an epoch, which repeats the records above it"
            )
        return (
            f"cannot verify leader epoch {epoch:,} of {name} at {source}: election history older than {KEPT.days} days "
            f"is gone; if the offset was taken after {_utc(self._known_since_ms())}, give that time (--taken-at)"
        )

    def _log(self, partition: TopicPartition) -> _Log:
        ends = None if isinstance(self._said, ClusterError) else self._said.ends.get(partition)
        return _Log(ClusterPartition(self._source, *partition), ends, self._ended.get(partition, {}))

    def _of_epoch(self, log: _Log, epoch: int, offset: NDArray[np.int64], at_ms: NDArray[np.int64]) -> NDArray[np.intp]:
        unverified = np.where(at_ms < self._known_since_ms(), int(State.LOG_TRUNCATED), ABSENT)
        if log.ends is None or log.ends.leader_epoch is None:
            known = self._index.leader_epoch(log.place)
            # Under the leader last seen no row of an election can be missing.
            return np.full(len(offset), ABSENT, np.intp) if known is not None and epoch >= known[1] else unverified
        if epoch >= log.ends.leader_epoch:
            return np.full(len(offset), State.TOPIC_RECREATED if epoch > log.ends.leader_epoch else ABSENT, np.intp)
        if epoch not in log.ended:
            return np.full(len(offset), State.CLUSTER_UNREACHABLE, np.intp)
        # For epochs deleted by retention the leader returns its log start.
        is_deleted = log.ended[epoch] <= log.ends.log_start
        found = unverified if is_deleted else np.full(len(offset), ABSENT, np.intp)
        return np.where(offset > log.ended[epoch], int(State.LOG_TRUNCATED), found)

    def _known_since_ms(self) -> int:
        """Return the time since which every election is known, whichever driver's clock removed rows."""
        return self._now_ms - _KEPT_MS + 2 * CLOCKS_APART_MS


class WithheldReasons:
    """Explains answers from source to target (*pair*), which are based on *snapshot*."""

    def __init__(
        self,
        pair: tuple[str, str],
        translator: Translator,
        state: SyncState,
        snapshot: Snapshot,
    ) -> None:
        self._pair, self._snapshot = pair, snapshot
        self._translator, self._state = translator, state

    def of(self, state: State, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return why all *given* offsets of *partition* are withheld as *state*."""
        source = self._pair[0]
        if state is State.CLUSTER_UNREACHABLE:
            return self._unreachable(partition)
        if state in (State.TOPIC_MISSING, State.TOPIC_UNAUTHORIZED, State.TOPIC_RECREATED, State.LOG_TRUNCATED):
            for alias, reason in zip(self._pair, (reason_of, reason_of_target), strict=True):
                view = self._translator.view(alias, partition, self._snapshot)
                if view is not None and reason(view) is state:
                    return self._of_cluster(state, alias, partition.topic)
            return self._former_incarnation(partition, given) or _TEXTS[State.LOG_TRUNCATED]
        if state is State.PARTITION_MISSING:
            return f"{self._called(source, partition.topic)} has {self._partitions(source, partition)} at {source}"
        if state is State.PARTITIONS_DIFFER:
            counts = " and ".join(f"{self._partitions(alias, partition)} at {alias}" for alias in self._pair)
            called = self._called(source, partition.topic)
            return f"{called} has {counts}; add partitions where there are fewer, and let the mirror copy them"
        if state is State.COMMIT_BEYOND_END:
            return self._beyond_end(partition, given)
        return _TEXTS[state]

    def _called(self, alias: str, stream: str) -> str:
        return visible(self._translator.names.outside(alias, stream))

    def _unreachable(self, partition: TopicPartition) -> str:
        source, target = self._pair
        for alias in (target, source):
            said = self._snapshot.metadata[alias]
            if isinstance(said, ClusterError):
                lost = f"; if {source} is lost for good, use --disaster" if alias == source else ""
                return f"{said}{lost}"
        silent = target if self._translator.view(target, partition, self._snapshot) is None else source
        place = f"{self._called(silent, partition.topic)}-{partition.partition}"
        return f"{silent}: the leader of {place} does not answer; try again"

    def _of_cluster(self, state: State, alias: str, topic: str) -> str:
        said = self._snapshot.metadata[alias]
        if state is State.TOPIC_UNAUTHORIZED and not isinstance(said, ClusterError):
            return str(said.refused[topic])
        called = self._called(alias, topic)
        return {
            State.TOPIC_MISSING: f"topic {called} does not exist at {alias}; create it and let the mirror fill it",
            State.TOPIC_RECREATED: f"{called} was recreated at {alias}; let index_records read it again",
            State.LOG_TRUNCATED: f"the log was truncated at {alias} after indexing; let index_records read it again",
        }[state]

    def _former_incarnation(self, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return what happened to the source's log, and since when an offset is of its present incarnation."""
        source = self._pair[0]
        incarnations = self._state.index.incarnations(ClusterPartition(source, *partition))
        incarnations = [each for each in incarnations if each.begins_at < int(given.offset.max(initial=0))]
        if not incarnations:
            return ""
        last = max(incarnations, key=lambda incarnation: incarnation.noticed_ms)
        what = "the topic was recreated" if last.is_recreated else f"the log was truncated at {last.begins_at:,}"
        return (
            f"at {source} {what}, noticed {_utc(last.noticed_ms)}: the offset may be older; "
            f"if it was taken after {_utc(last.noticed_ms + CLOCKS_APART_MS + 1)}, give that time (--taken-at)"
        )

    def _partitions(self, alias: str, partition: TopicPartition) -> str:
        said = self._snapshot.metadata[alias]
        topic = None if isinstance(said, ClusterError) else said.topics.get(partition.topic)
        count = (
            topic.partitions
            if topic
            else max(self._state.index.partitions(alias, partition.topic), partition.partition + 1)
        )
        return "1 partition" if count == 1 else f"{count:,} partitions"

    def _beyond_end(self, partition: TopicPartition, given: GivenOffsets) -> str:
        source = self._pair[0]
        place = f"{self._called(source, partition.topic)}-{partition.partition}"
        view = self._translator.view(source, partition, self._snapshot)
        if view is not None:
            ends = f"{place} ends at {view.log_end:,} at {source}"
            return f"{ends}: the offset is of another topic or cluster, or records were lost there"
        end = known_end(self._state.index, self._state.offsets.clusters, ClusterPartition(source, *partition))
        if int(given.offset.min()) <= end:
            return f"a group's commit, not above this offset, was beyond the end of {place} when {source} last answered"
        index = self._state.index.log(source, *partition)
        complete_ms = index.complete_until_ms if index is not None else 0
        # A minute later, as clocks differ; no time is given if the index was never complete.
        since = _utc(complete_ms + CLOCKS_APART_MS + 1)
        by_time = f"if the offset was taken after {since}, give that time (--taken-at), or " if complete_ms else ""
        return (
            f"{place} at {source} is known up to {end:,} only; "
            f"{by_time}translate {end:,}, which repeats the records above it"
        )


def _utc(at_ms: int) -> str:
    """Return a time in the format of ``--taken-at``."""
    return datetime.fromtimestamp(-(-at_ms // 1000), timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
