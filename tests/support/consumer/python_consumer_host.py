"""Consumers of ``consumer/python`` in threads of this process, told what to do as those of ``ConsumerHost.java`` are.

The settings are those of Java. ``max.poll.records`` is what ``consume`` asks for. ``reads.by`` is ``consume``, the
default, ``poll`` or ``aio``. ``commits`` is ``auto``, or ``store``: offsets are stored record by record.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_INVALID, TopicPartition

from consumer.consumer_host import ConsumerHost, Delivered, Reader
from offset_sync_consumer import Consumer
from offset_sync_consumer.aio import AIOConsumer


class PythonConsumerHost(ConsumerHost):
    """Its consumers log to the file *log*."""

    def __init__(self, log: Path) -> None:
        self._log, self._readers = log, {}
        self._running: dict[str, _Running] = {}

    def _tell(self, name: str, what: str, **more: Any) -> None:
        if what == "start":
            self._running[name] = _Running(self._readers[name], more)
            self._running[name].start()
        else:
            self._running[name].orders.put({"do": what} | more)


class _Running(threading.Thread):
    """One consumer. It calls every method through *do*, which awaits what the asyncio consumer returns."""

    def __init__(self, reader: Reader, told: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader, self._topic, self._pause_s = reader, told["topic"], told["pause"] / 1000
        self._settings: dict[str, Any] = dict(told["settings"])
        del self._settings["interceptor.classes"]
        self._most = int(self._settings.pop("max.poll.records"))
        self._misled_to = self._settings.pop("misled.to", None)
        self._style = self._settings.pop("reads.by", "consume")
        self._stores = told["commits"] == "store"
        if self._stores:
            self._settings |= {"enable.auto.commit": True, "enable.auto.offset.store": False}

    def run(self) -> None:
        try:
            if self._style == "aio":
                asyncio.run(self._run_async())
            else:
                self._read(Consumer(self._settings), lambda called, *words: called(*words))
        except BaseException as failure:
            self._reader.failure = repr(failure)

    async def _run_async(self) -> None:
        # The reader goes on in a thread of its own; what it calls is awaited here.
        loop = asyncio.get_running_loop()

        def do(called: Callable[..., Awaitable[Any]], *words: Any) -> Any:
            async def call() -> Any:
                return await called(*words)

            return asyncio.run_coroutine_threadsafe(call(), loop).result()

        await asyncio.to_thread(self._read, AIOConsumer(self._settings), do)

    def _read(self, consumer: Any, do: Callable[..., Any]) -> None:
        if self._misled_to is not None:
            consumer._skip_read._commits._settings["bootstrap.servers"] = self._misled_to
        do(consumer.subscribe, [self._topic])
        while self._obeys(consumer, do):
            messages = self._fetch(consumer, do)
            assert [str(each.error()) for each in messages if each.error()] == []
            self._reader.records += [
                Delivered(each.partition(), each.offset(), (each.value() or b"").decode()) for each in messages
            ]
            for each in messages if self._stores else ():
                do(consumer.store_offsets, each)
            if messages:
                time.sleep(self._pause_s)
            self._note_positions(consumer, do)
        open_clients = int(consumer._skip_read._commits.is_open)
        self._reader.metrics = consumer.skip_counters() | {"admin threads": open_clients}
        do(consumer.close)
        self._reader.is_closed = True

    def _fetch(self, consumer: Any, do: Callable[..., Any]) -> list[Any]:
        if self._style == "poll":
            return [message] if (message := do(consumer.poll, 0.1)) else []
        return list(do(consumer.consume, self._most, 0.1))

    def _obeys(self, consumer: Any, do: Callable[..., Any]) -> bool:
        order: dict[str, Any] = {"do": "read"} if self.orders.empty() else self.orders.get()
        if order["do"] == "hurry":
            self._pause_s = 0
        elif order["do"] == "seek":
            do(consumer.seek, TopicPartition(order["topic"], order["partition"], order["offset"]))
            self._reader.positions = {}
            self._reader.sought_at = len(self._reader.records)
        return bool(order["do"] != "stop")

    def _note_positions(self, consumer: Any, do: Callable[..., Any]) -> None:
        assigned = do(consumer.assignment)
        found = do(consumer.position, assigned) if assigned else []
        # librdkafka knows no position before the first record, and then the consumer is where its group is.
        if unknown := [TopicPartition(each.topic, each.partition) for each in found if each.offset == OFFSET_INVALID]:
            found = [each for each in found if each.offset != OFFSET_INVALID] + do(consumer.committed, unknown, 30)
        self._reader.positions |= {each.partition: each.offset for each in found}
