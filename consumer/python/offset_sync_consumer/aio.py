"""confluent_kafka's AIOConsumer, which skips what its group has read at another cluster."""

from __future__ import annotations

import concurrent.futures
from typing import Any, cast

import confluent_kafka.aio
from confluent_kafka import Message, TopicPartition

from offset_sync_consumer.skip_read import Source, skip_read, without_options


class AIOConsumer(confluent_kafka.aio.AIOConsumer):
    """Use it in place of ``confluent_kafka.aio.AIOConsumer``; its own settings are those of :class:`Consumer`.

    Lists are asked for in the executor's thread that polls, so the event loop is never blocked.
    """

    def __init__(
        self,
        consumer_conf: dict[str, Any],
        max_workers: int = 100,
        executor: concurrent.futures.Executor | None = None,
    ) -> None:
        # A copy: the base class puts wrappers of its own in place of callbacks and logger.
        super().__init__(without_options(consumer_conf), max_workers, executor)
        self._skip_read = skip_read(cast(Source, self._consumer), dict(consumer_conf))

    async def poll(self, timeout: float = -1) -> Message | None:
        """Return the next message that is unread; None where none comes in time."""
        return cast("Message | None", await self._call(self._skip_read.poll, timeout))

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return the next messages that are unread, with those that are errors."""
        return cast(list[Message], await self._call(self._skip_read.consume, num_messages, timeout))

    async def seek(self, partition: TopicPartition) -> None:
        """Set the position of a partition."""
        self._skip_read.note_sought([partition])
        await super().seek(partition)

    async def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions, from their offsets on where they have any."""
        self._skip_read.note_sought(partitions)
        await super().assign(partitions)

    async def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions too, from their offsets on where they have any."""
        self._skip_read.note_sought(partitions)
        await super().incremental_assign(partitions)

    def skip_counters(self) -> dict[str, int]:
        """Return ``skipped-total``, ``lists`` (in use), ``asked-total`` and ``failed-total``."""
        return self._skip_read.counters()

    async def close(self) -> None:
        """Write the last marks, which takes 2 s at most, and leave the group."""
        try:
            await self._call(self._skip_read.close)
        finally:
            await super().close()
