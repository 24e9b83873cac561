"""A client handle for requests about groups that never joins one."""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Mapping

from offset_sync.kafka.librdkafka import Library, library, text

_NO_CONSUMER_CLOSE = 0x8


class ConsumerHandle:
    """An ``rd_kafka_t`` of the consumer kind, which never subscribes, polls or commits; destroyed with its last user.

    *options* are librdkafka's. A ``group.id`` must be there for an ``rk_cgrp`` (librdkafka.py); it is only looked up.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library = library()
        self.pointer: int = self._library.open_consumer(options)
        self._complaint = ""
        # At the end of the process nothing is left to destroy it for.
        weakref.finalize(self, _destroy, self._library, self.pointer, os.getpid()).atexit = False

    def complaint(self) -> str:
        """Return what last went wrong between client and brokers ("Connection refused"), "" when nothing did."""
        queue = self._library.queue_get_main(self.pointer)
        while event := self._library.queue_poll(queue, 0):
            if self._library.event_error(event):
                self._complaint = text(self._library.event_error_string(event))
            self._library.event_destroy(event)
        self._library.queue_destroy(queue)
        return self._complaint


def _destroy(bound: Library, pointer: int, owner: int) -> None:
    """Let librdkafka take a client down, and wait for nothing.

    After a broker was away and came back that may never end (librdkafka issue 4674), and whoever drops a client holds
    a lock. A thread of threading would not do: its start takes locks, and this may be called in the middle of anything.
    """
    if os.getpid() == owner:  # a forked child has the memory but not the threads: destroying would wait for ever
        _thread.start_new_thread(bound.destroy_flags, (pointer, _NO_CONSUMER_CLOSE))
