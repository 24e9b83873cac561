"""Why a given offset has no answer: the reason, the cluster, and the numbers that help to choose another offset."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.sync_state import SyncState, known_end
from offset_sync.state.translator import Translator
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import reason_of, reason_of_target

_OF_A_LOG = (State.TOPIC_MISSING, State.TOPIC_UNAUTHORIZED, State.TOPIC_RECREATED, State.LOG_TRUNCATED)


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
        reason = Reason[state.name]()
        return "; ".join([reason, *self._facts(state, partition, offset)])

    def _facts(self, state: State, partition: TopicPartition, offset: Int64s) -> Iterator[str]:
        source, _ = self._pair
        if state is State.CLUSTER_UNREACHABLE:
            yield from self._unreachable(partition)
        elif state in _OF_A_LOG:
            yield self._of_log(state, partition) or self._of_former_log(partition, offset)
        elif state is State.COMMIT_BEYOND_END:
            yield from self._beyond_end(source, partition, int(offset.min()))

    def _unreachable(self, partition: TopicPartition) -> Iterator[str]:
        source, target = self._pair
        for alias in (target, source):
            said = self._snapshot.metadata[alias]
            if isinstance(said, ClusterError):
                yield str(said)
                if alias == source:
                    yield Reason.LOST_FOR_GOOD(source)
                return
        yield target if self._translator.view(target, partition, self._snapshot) is None else source

    def _of_log(self, state: State, partition: TopicPartition) -> str:
        """Return the cluster whose log has that state now, "" for none."""
        for alias, reason in zip(self._pair, (reason_of, reason_of_target), strict=True):
            view, said = self._translator.view(alias, partition, self._snapshot), self._snapshot.metadata[alias]
            if view is not None and reason(view) is state:
                refused = {} if isinstance(said, ClusterError) else said.refused
                return str(refused.get(partition.topic, alias))
        return ""

    def _of_former_log(self, partition: TopicPartition, offset: Int64s) -> str:
        """Return since when an offset is of the source's present log."""
        source, highest = self._pair[0], int(offset.max(initial=0))
        incarnations = self._state.index.incarnations(ClusterPartition(source, *partition))
        noticed_ms = [each.noticed_ms for each in incarnations if each.begins_at < highest]
        return Reason.TAKEN_AT(_after(max(noticed_ms))) if noticed_ms else source

    def _beyond_end(self, source: str, partition: TopicPartition, offset: int) -> Iterator[str]:
        view = self._translator.view(source, partition, self._snapshot)
        if view is not None:
            yield Reason.ENDS_AT(source, view.log_end)
            return
        end = known_end(self._state.index, self._state.offsets.clusters, ClusterPartition(source, *partition))
        if offset <= end:
            yield Reason.ENDED_BELOW()
            return
        yield Reason.KNOWN_TO(source, end)
        index = self._state.index.log(source, *partition)
        if index is not None and index.complete_until_ms:
            yield Reason.TAKEN_AT(_after(index.complete_until_ms))


def _after(at_ms: int) -> str:
    """Return a time that is certainly after *at_ms*, as clocks differ, in the format of ``--taken-at``."""
    seconds = -(-(at_ms + CLOCKS_APART_MS + 1) // 1000)
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
