"""Where the records of a leader epoch end in a log: what a log that was cut and has grown again cannot hide.

Kafka's brokers answer that (OffsetsForLeaderEpoch, KIP-320) to consumers only, which ask it about the position they
were given. librdkafka does so for an assignment with a leader epoch, and says in its error what it was told. So it is
asked about a position that no log has. That the sentence is still worded so is seen by ``tests/broker``; where it is
not, nobody knows.

A broker that was the leader, and has not heard yet that it is no more, would say that its epoch goes on. So each is
asked first whether it knows the epoch of the present leader, and only what the same broker says afterwards counts.

One that has no record of an epoch says where the last epoch before ends, and which one that is.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_reader import log_consumer, next_messages, place_of
from offset_sync.kafka.requests import Door, TopicNames
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, EpochChange, ToldEnd, TopicPartition

_BEYOND_ALL = 1 << 60
_POLL_S = 0.2
_AT_ONCE = 1_000
_TOLD = re.compile(r"truncation detected .*: broker end offset is (\d+) \(offset leader epoch (\d+)\)")
_BY = re.compile(r"\(broker (\d+)\)$")
_WANTED = {"auto.offset.reset": "error"}


class _Told(NamedTuple):
    """Where *epoch* ends, None where none is known there; and the number of the broker that said so."""

    end: int | None
    epoch: int
    broker: str

    @classmethod
    def of(cls, message: str) -> _Told:
        """Return what the client's *message* tells."""
        told, by = _TOLD.search(message), _BY.search(message)
        end, epoch = (int(told[1]), int(told[2])) if told is not None else (None, ABSENT)
        return cls(end, epoch, by[1] if by is not None else "")

    def of_change(self, change: EpochChange) -> ToldEnd:
        """Return where the records that are known end."""
        return ToldEnd(0) if self.end is None else change.end(self.end, self.epoch)


class LeaderEpochs:
    """Asks one cluster about streams; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames | None = None) -> None:
        self._alias, self._options, self._door = alias, options, Door(alias, names)

    def ends(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float = 5.0
    ) -> dict[TopicPartition, ToldEnd]:
        """Return the first offset after the records of each known epoch and of those before that the log still has.

        0 where the log has none of them, or says so in words that nobody here knows: errs to the small side. Raises
        ClusterError where the present leader of a partition has not answered within *deadline* (seconds).
        """
        found = self.ends_in_time(epochs, deadline)
        if waiting := epochs.keys() - found.keys():
            raise ClusterError(self._alias, f"{min(waiting)!r} did not say in time where a leader epoch ends")
        return found

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float = 5.0
    ) -> dict[TopicPartition, ToldEnd]:
        """Return the same of those partitions that answer within *deadline* (seconds)."""
        found: dict[TopicPartition, ToldEnd] = {}
        epochs = self._door.out(epochs)
        left, ends_at = list(epochs), time.monotonic() + deadline
        random.shuffle(left)  # those that are silent are not in front of the others each time
        while left and time.monotonic() < ends_at:
            asked, left = left[:_AT_ONCE], left[_AT_ONCE:]
            present = self._told({each: epochs[each].now for each in asked}, ends_at)
            leaders = {each: told.broker for each, told in present.items() if told.end is not None}
            known = self._told({each: epochs[each].known for each in leaders}, ends_at)
            known = {each: told for each, told in known.items() if told.broker == leaders[each]}
            found |= {each: told.of_change(epochs[each]) for each, told in known.items()}
        return self._door.into(found)

    def _told(self, epochs: Mapping[TopicPartition, int], ends_at: float) -> dict[TopicPartition, _Told]:
        """Return where epochs end, of partitions that answer; a client asks about a partition once in its life."""
        found: dict[TopicPartition, _Told] = {}
        waiting = set(epochs)
        if not epochs:
            return found
        with log_consumer(self._alias, self._options, _WANTED) as consumer:
            consumer.assign([ClientPartition(*each, _BEYOND_ALL, leader_epoch=epoch) for each, epoch in epochs.items()])
            while waiting and time.monotonic() < ends_at:
                for message in next_messages(consumer, len(waiting), _POLL_S):
                    partition, error = place_of(message), message.error()
                    if error is not None and error.name() == "_AUTO_OFFSET_RESET" and partition in waiting:
                        waiting.remove(partition)
                        found[partition] = _Told.of(error.str())
        return found
