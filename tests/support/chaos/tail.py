"""Everything that comes into some partitions of one cluster, read by plain consumers that wait out every outage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, TopicPartition

from offset_sync_demo.kafka.clients import CLIENT_ERRORS, Endpoint, Partition, Received, client_options, read_batch

_ASK_S = 2.0
_MOST_FAILURES = 4


class Tail:
    """Gives each record of *places* to *take*, in order and once.

    A client that has failed some times in a row is given up for a new one, which goes on where that one was.
    """

    def __init__(self, cluster: Endpoint, places: Sequence[Partition], take: Callable[[Received], None]) -> None:
        self._take = take
        self._read_to = dict.fromkeys(places, 0)
        self._cluster, self._failures = cluster, 0
        self.last_error = ""
        self._consumer = self._open()

    def ends(self) -> dict[Partition, int] | None:
        """Return how far each partition reaches now; None where the cluster does not answer."""
        try:
            marks = {p: self._consumer.get_watermark_offsets(TopicPartition(*p), _ASK_S) for p in self._read_to}
        except CLIENT_ERRORS as error:
            self._failed(str(error))
            return None
        if None in marks.values():
            self._failed("no answer")
            return None
        return {place: int(mark[1]) for place, mark in marks.items()}

    def read_to(self, ends: dict[Partition, int], seconds: float) -> bool:
        """Read up to *ends*; return whether that was possible within *seconds*."""
        until = time.monotonic() + seconds
        while any(self._read_to[place] < end for place, end in ends.items()):
            if time.monotonic() > until:
                self._failed("nothing more came")
                return False
            for message in read_batch(self._consumer, 2000, 0.05):
                if (error := message.error()) is None:
                    self._receive(message)
                else:
                    self.last_error = error.str()
        self._failures = 0
        return True

    def _open(self) -> Consumer:
        options = client_options(
            self._cluster.bootstrap_servers,
            group_id=f"chaos-observer-{self._cluster.alias}",
            enable_auto_commit=False,
            auto_offset_reset="error",
            fetch_wait_max_ms=50,
            socket_timeout_ms=6000,
        )
        consumer = Consumer(options)
        consumer.assign([TopicPartition(*place, offset) for place, offset in self._read_to.items()])
        return consumer

    def _failed(self, why: str) -> None:
        self.last_error = why
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            self._failures = 0
            self._consumer.close()
            self._consumer = self._open()

    def _receive(self, message: Received) -> None:
        place = message.topic(), message.partition()
        # A consumer that has lost its broker may fetch again what it has given out.
        if message.offset() >= self._read_to[place]:
            self._take(message)
            self._read_to[place] = message.offset() + 1
