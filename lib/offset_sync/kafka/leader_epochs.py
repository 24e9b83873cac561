"""Where the records of a leader epoch end in a log, which detects a truncation even after the log has grown again.

Brokers return that (OffsetsForLeaderEpoch, KIP-320) to consumers only, for their own position. librdkafka sends the
request for an assignment with a leader epoch, and puts the answer into its error message. So we assign a position
beyond every log. ``tests/broker`` checks the wording of that message; one of another wording is no answer.

A deposed leader that has not learned of the election yet would answer that its epoch goes on. So each broker is asked
first for the present leader's epoch, and only a later answer of the same broker counts.

A broker without records of an epoch returns the end of the last epoch before, and which one that is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_reader import StreamReader, log_consumer, read_logs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd, TopicPartition

_BEYOND_ALL = 1 << 60
_TRUNCATED = re.compile(r"truncation detected .*: broker end offset is (\d+) \(offset leader epoch (\d+)\)")
_NO_EPOCH = "No epoch found less or equal to"
_BY = re.compile(r"\(broker (\d+)\)$")
_WANTED = {"auto.offset.reset": "error"}


class _Reported(NamedTuple):
    """Where *epoch* ends, None where the broker knows none; and the id of that broker."""

    end: int | None
    epoch: int
    broker: str

    @classmethod
    def of(cls, message: str) -> _Reported | None:
        """Parse the client's error *message*; None: it is no answer, as where the client has fetched instead."""
        reported, by = _TRUNCATED.search(message), _BY.search(message)
        if reported is None and _NO_EPOCH not in message:
            return None
        end, epoch = (int(reported[1]), int(reported[2])) if reported is not None else (None, ABSENT)
        return cls(end, epoch, by[1] if by is not None else "")

    def of_change(self, change: EpochChange) -> ReportedEnd:
        """Return the end of the known epoch's records."""
        return ReportedEnd(0) if self.end is None else change.end(self.end, self.epoch)


class LeaderEpochs(StreamReader):
    """Queries one cluster by streams."""

    def ends(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float = 5.0
    ) -> dict[TopicPartition, ReportedEnd]:
        """Return the first offset after the records of each known epoch and of those before that the log still has.

        0 where the log has none of them. Raises ClusterError where the present leader of a partition has not answered
        within *deadline* (seconds), so that it is asked again: no answer is no truncation.
        """
        found = self.ends_in_time(epochs, deadline)
        if waiting := epochs.keys() - found.keys():
            topic, partition = min(waiting)
            raise ClusterError(self._alias, f"no end offset of a leader epoch of {topic}-{partition} in time")
        return found

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float = 5.0
    ) -> dict[TopicPartition, ReportedEnd]:
        """Return the same for the partitions that answer within *deadline* (seconds)."""
        epochs, began = self._door.out(epochs), time.monotonic()
        now = {place: change.now for place, change in epochs.items()}
        # Silent leaders of the first question leave time for the second one.
        present = self._reported(now, began + deadline / 2)
        leaders = {place: reported.broker for place, reported in present.items() if reported.end is not None}
        known = self._reported({place: epochs[place].known for place in leaders}, began + deadline)
        return self._door.into(
            {
                place: reported.of_change(epochs[place])
                for place, reported in known.items()
                if reported.broker == leaders[place]
            }
        )

    def _reported(self, epochs: Mapping[TopicPartition, int], ends_at: float) -> dict[TopicPartition, _Reported]:
        """Return where epochs end, of partitions that answer; a client requests each partition only once."""
        found: dict[TopicPartition, _Reported] = {}

        def take(place: TopicPartition, message: Message) -> bool:
            error = message.error()
            if error is None or error.name() != "_AUTO_OFFSET_RESET":
                return False
            if (reported := _Reported.of(error.str())) is not None:
                found[place] = reported
            return True

        starts = [ClientPartition(*each, _BEYOND_ALL, leader_epoch=epoch) for each, epoch in epochs.items()]
        if starts:
            with log_consumer(self._alias, self._options, _WANTED) as consumer:
                read_logs(consumer, starts, take, ends_at)
        return found
