"""Why an offset has no answer, in a sentence for people, with what to do."""

from __future__ import annotations

from datetime import datetime, timezone

from offset_sync.model.errors import ClusterError
from offset_sync.model.text import visible
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.given_translator import GivenTranslator
from offset_sync.state.snapshot import Snapshot
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.partition_log import reason_of, reason_of_target

_TEXTS = {
    State.TOPIC_NOT_INCLUDED: "the configuration leaves this topic out; include it, and let index_records read it",
    State.NOT_INDEXED: "the index does not reach there; is index_records running? It may have begun later "
    "(index.starting: latest)",
    State.STRATEGY_REFUSED: "the topic's strategy could lose records; choose exact for it",
    State.COPY_WRITTEN: "a copy was written to, so the same offset means another record; make the copy anew, or index "
    "anew where the strategy is another one now",
    State.NO_REFERENCE: "the topic's strategy finds nothing to go by; wait for mirrored records, or choose exact",
    State.TRANSLATION_FAILED: "an error in Offset Sync itself; the log has its stack trace, please report it",
    State.AMBIGUOUS: "less than one copy in 1,000 has contents of its own; have the mirror stamp headers",
    State.MIRROR_ALTERS_RECORDS: "more than one copy in 1,000 has the contents of no original: the mirror alters "
    "records (see mirror.keeps), or somebody else writes to the copy; have the mirror stamp headers",
    State.LOG_TRUNCATED: "a log has lost records that were indexed; let index_records read it again",
}


class WithheldReasons:
    """Explains answers from source to target (*pair*), which rest on *snapshot*."""

    def __init__(
        self,
        pair: tuple[str, str],
        given: GivenTranslator,
        translator: Translator,
        state: SyncState,
        snapshot: Snapshot,
    ) -> None:
        self._pair, self._snapshot = pair, snapshot
        self._given, self._translator, self._state = given, translator, state

    def of(self, state: State, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return why the offsets *given* of *partition*, all of them, are withheld as *state*."""
        source = self._pair[0]
        if state is State.CLUSTER_UNREACHABLE:
            return self._unreachable(partition)
        if state in (State.TOPIC_MISSING, State.TOPIC_UNAUTHORIZED, State.TOPIC_RECREATED, State.LOG_TRUNCATED):
            for alias, reason in zip(self._pair, (reason_of, reason_of_target), strict=True):
                view = self._translator.view(alias, partition, self._snapshot)
                if view is not None and reason(view) is state:
                    return self._of_cluster(state, alias, partition.topic)
            return self._former_life(partition, given) or _TEXTS[State.LOG_TRUNCATED]
        if state is State.PARTITION_MISSING:
            return f"{self._called(source, partition.topic)} has {self._partitions(source, partition)} at {source}"
        if state is State.PARTITIONS_DIFFER:
            counts = " and ".join(f"{self._partitions(alias, partition)} at {alias}" for alias in self._pair)
            called = self._called(source, partition.topic)
            return f"{called} has {counts}; add some where there are fewer, and let the mirror follow"
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
                lost = f"; if {source} is lost for good, --disaster does without it" if alias == source else ""
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
            State.TOPIC_MISSING: f"there is no topic {called} at {alias}; create it, let the mirror fill it",
            State.TOPIC_RECREATED: f"{called} was made anew at {alias}; let index_records read it again",
            State.LOG_TRUNCATED: f"{alias} has lost records that were indexed; let index_records read the log again",
        }[state]

    def _former_life(self, partition: TopicPartition, given: GivenOffsets) -> str:
        """Return what has happened to the source's log, and from which time on an offset is of its present life."""
        source = self._pair[0]
        lives = self._state.index.incarnations(ClusterPartition(source, *partition))
        lives = [life for life in lives if life.begins_at < int(given.offset.max(initial=0))]
        if not lives:
            return ""
        last = max(lives, key=lambda life: life.noticed_ms)
        what = "the topic was made anew" if last.is_anew else f"the log was cut at {last.begins_at:,}"
        return (
            f"at {source} {what}, noticed {_utc(last.noticed_ms)}: nobody knows whether the offset is of before; "
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
            return f"{place} ends at {view.log_end:,} at {source}: another topic or cluster, or records were lost there"
        end = self._given.known_end(source, partition)
        if int(given.offset.min()) <= end:
            return f"a group's commit that was no higher lay beyond the end of {place} when {source} last answered"
        index = self._state.index.log(source, *partition)
        complete_ms = index.complete_until_ms if index is not None else 0
        # A minute later, for clocks differ, and no time would do where nobody knows when all of it was read.
        since = _utc(complete_ms + CLOCKS_APART_MS + 1)
        by_time = f"if the offset was taken after {since}, give that time (--taken-at), or " if complete_ms else ""
        return (
            f"of {place} at {source} nothing is known from {end:,} on; "
            f"{by_time}translate {end:,}, which repeats what came later"
        )


def _utc(at_ms: int) -> str:
    """Return a time as ``--taken-at`` takes it."""
    return datetime.fromtimestamp(-(-at_ms // 1000), timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
