"""confluent_kafka's Consumer, which skips what its group has read at another cluster."""

from __future__ import annotations

from typing import Any, cast

import confluent_kafka
from confluent_kafka import Message, TopicPartition

from offset_sync_consumer.skip_read import Source, skip_read, without_options


class Consumer(confluent_kafka.Consumer):
    """Use it in place of ``confluent_kafka.Consumer``: with the same settings, methods and callbacks.

    Two settings are its own:

    - ``offset.sync.wait.ms``, 10000: how long a poll waits for lists, at most half of ``max.poll.interval.ms``. After
      a failure polls wait 1 s at most until an answer comes.
    - ``offset.sync.marks``, True: whether marks are written.

    What it does, and how it fails, says :mod:`offset_sync_consumer.skip_read`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        settings: dict[str, Any] = {**(args[0] if args else {}), **kwargs}
        super().__init__(without_options(settings), *args[1:])
        self._skip_read = skip_read(cast(Source, super()), settings)

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next message that is unread; None where none comes in time."""
        return self._skip_read.poll(timeout)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return the next messages that are unread, with those that are errors."""
        return self._skip_read.consume(num_messages, timeout)

    def seek(self, partition: TopicPartition) -> None:
        """Set the position of a partition."""
        self._skip_read.note_sought([partition])
        super().seek(partition)

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions, from their offsets on where they have any."""
        self._skip_read.note_sought(partitions)
        super().assign(partitions)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions too, from their offsets on where they have any."""
        self._skip_read.note_sought(partitions)
        super().incremental_assign(partitions)

    def skip_counters(self) -> dict[str, int]:
        """Return ``skipped-total``, ``lists`` (in use), ``asked-total`` and ``failed-total``."""
        return self._skip_read.counters()

    def close(self) -> None:
        """Write the last marks, which takes 2 s at most, and leave the group."""
        try:
            self._skip_read.close()
        finally:
            super().close()

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> bool | None:
        self.close()
        return None
