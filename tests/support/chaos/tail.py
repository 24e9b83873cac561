"""Everything that comes into some partitions of one cluster, read by a plain consumer that waits out every outage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, TopicPartition

from offset_sync_demo.kafka.clients import CLIENT_ERRORS, Endpoint, Partition, Received, client_options, read_batch

_ASK_S = 2.0


class Tail:
    """Gives each record of *places* to *take*, in order and once."""

    def __init__(self, cluster: Endpoint, places: Sequence[Partition], take: Callable[[Received], None]) -> None:
        self._take = take
        self._read_to = dict.fromkeys(places, 0)
        options = client_options(
            cluster.bootstrap_servers,
            group_id=f"chaos-observer-{cluster.alias}",
            enable_auto_commit=False,
            auto_offset_reset="error",
            fetch_wait_max_ms=50,
            socket_timeout_ms=6000,
        )
        self._consumer = Consumer(options)
        self._consumer.assign([TopicPartition(*place, 0) for place in places])

    def ends(self) -> dict[Partition, int] | None:
        """Return how far each partition reaches now; None where the cluster does not answer."""
        try:
            marks = {p: self._consumer.get_watermark_offsets(TopicPartition(*p), _ASK_S) for p in self._read_to}
        except CLIENT_ERRORS:
            return None
        return None if None in marks.values() else {place: int(mark[1]) for place, mark in marks.items()}

    def read_to(self, ends: dict[Partition, int], seconds: float) -> bool:
        """Read up to *ends*; return whether that was possible within *seconds*."""
        until = time.monotonic() + seconds
        while any(self._read_to[place] < end for place, end in ends.items()):
            if time.monotonic() > until:
                return False
            for message in read_batch(self._consumer, 2000, 0.05):
                if message.error() is None:
                    self._receive(message)
        return True

    def close(self) -> None:
        """End the client."""
        self._consumer.close()

    def _receive(self, message: Received) -> None:
        place = message.topic(), message.partition()
        # A consumer that has lost its broker may fetch again what it has given out.
        if message.offset() >= self._read_to[place]:
            self._take(message)
            self._read_to[place] = message.offset() + 1
