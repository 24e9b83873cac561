"""Where leader epochs ended, asked of the leaders that came after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from offset_sync.ingest.incarnation_log import KnownLog
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, ToldEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata


class EpochEnds(Protocol):
    """A cluster that is asked where leader epochs end, see :class:`offset_sync.kafka.leader_epochs.LeaderEpochs`."""

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> Mapping[TopicPartition, ToldEnd]:
        """Return the first offset after the records of each epoch; raise ClusterError where one is not answered."""


Said = Mapping[str, "ClusterMetadata | ClusterError"]
"""What clusters say of their logs, by alias, or why they say nothing."""


def ends_of_epochs(
    epochs: Mapping[str, EpochEnds], asked: Mapping[ClusterPartition, KnownLog | None], said: Said
) -> dict[ClusterPartition, ToldEnd | None]:
    """Return where the epoch ends that was known of each log, None where none was; *epochs* are asked by alias.

    Raises ClusterError where a leader that has just said where its log ends does not answer that: whatever was read
    meanwhile would be of a life that nobody knows. Errs to waiting.
    """
    found: dict[ClusterPartition, ToldEnd | None] = dict.fromkeys(asked)
    for cluster in {log.cluster for log in asked}:
        logs, metadata = {log.topic_partition: log for log in asked if log.cluster == cluster}, said[cluster]
        assert isinstance(metadata, ClusterMetadata)
        changes = dict[TopicPartition, EpochChange]()
        for each, log in logs.items():
            now, known = metadata.ends[each].leader_epoch, asked[log]
            if known is not None and (epoch := known.leader_epoch) is not None:
                changes[each] = EpochChange(epoch, now if now is not None else epoch, known.ended)
        answers = epochs[cluster].ends(changes) if changes else {}
        found |= {logs[each]: end for each, end in answers.items()}
    return found
