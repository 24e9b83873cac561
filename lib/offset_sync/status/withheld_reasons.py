"""Why a given offset has no answer, in a sentence for people, with the remedy."""

from __future__ import annotations

from datetime import datetime, timezone

from offset_sync.model.errors import ClusterError
from offset_sync.model.text import visible
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.sync_state import SyncState, known_end
from offset_sync.state.translator import Translator
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import reason_of, reason_of_target

_TEXTS = {
    State.TOPIC_NOT_INCLUDED: "topics.include does not match this topic; add it, and let index_records read the topic",
    State.NOT_INDEXED: "the record index does not cover this offset; is index_records running? It may have started "
    "later (index.starting: latest)",
    State.STRATEGY_REFUSED: "the topic's strategy could lose records; use exact",
    State.NO_REFERENCE: "the topic's strategy has no mirrored record to translate by; wait for one, or use exact",
    State.TRANSLATION_FAILED: "an error in Offset Sync itself; the log has its stack trace, please report it",
    State.LOG_TRUNCATED: "a log was truncated after it was indexed; let index_records read it again",
}


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

    def of(self, state: State, partition: TopicPartition, offset: Int64s) -> str:
        """Return why all offsets of *partition* in *offset* are withheld as *state*."""
        source = self._pair[0]
        if state is State.CLUSTER_UNREACHABLE:
            return self._unreachable(partition)
        if state in (State.TOPIC_MISSING, State.TOPIC_UNAUTHORIZED, State.TOPIC_RECREATED, State.LOG_TRUNCATED):
            for alias, reason in zip(self._pair, (reason_of, reason_of_target), strict=True):
                view = self._translator.view(alias, partition, self._snapshot)
                if view is not None and reason(view) is state:
                    return self._of_cluster(state, alias, partition.topic)
            return self._former_incarnation(partition, offset) or _TEXTS[State.LOG_TRUNCATED]
        if state is State.PARTITION_MISSING:
            return f"{self._called(source, partition.topic)} has {self._partitions(source, partition)} at {source}"
        if state is State.PARTITIONS_DIFFER:
            counts = " and ".join(f"{self._partitions(alias, partition)} at {alias}" for alias in self._pair)
            called = self._called(source, partition.topic)
            return f"{called} has {counts}; add partitions where there are fewer, and let the mirror copy them"
        if state is State.COMMIT_BEYOND_END:
            return self._beyond_end(partition, offset)
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

    def _former_incarnation(self, partition: TopicPartition, offset: Int64s) -> str:
        """Return what happened to the source's log, and since when an offset is of its present incarnation."""
        source = self._pair[0]
        incarnations = self._state.index.incarnations(ClusterPartition(source, *partition))
        incarnations = [each for each in incarnations if each.begins_at < int(offset.max(initial=0))]
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

    def _beyond_end(self, partition: TopicPartition, offset: Int64s) -> str:
        source = self._pair[0]
        place = f"{self._called(source, partition.topic)}-{partition.partition}"
        view = self._translator.view(source, partition, self._snapshot)
        if view is not None:
            ends = f"{place} ends at {view.log_end:,} at {source}"
            return f"{ends}: the offset is of another topic or cluster, or records were lost there"
        end = known_end(self._state.index, self._state.offsets.clusters, ClusterPartition(source, *partition))
        if int(offset.min()) <= end:
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
