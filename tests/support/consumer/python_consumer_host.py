"""Consumers of ``consumer/python`` in threads, told what to do by lines of JSON, as those of ``ConsumerHost.java`` are.

The settings are those of Java. ``max.poll.records`` is what ``consume`` asks for. ``reads.by`` is ``consume``, the
default, ``poll`` or ``aio``. ``commits`` may also be ``store``: offsets are stored record by record, and committed by
the consumer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import confluent_kafka
from confluent_kafka import OFFSET_INVALID, Message, TopicPartition

import offset_sync_consumer
from offset_sync_consumer.aio import AIOConsumer

_OUTPUT = threading.Lock()


def say(name: str, **told: Any) -> None:
    with _OUTPUT:
        print(json.dumps({"name": name} | told), flush=True)


class Reader(threading.Thread):
    """One consumer. It calls every method through *do*, which awaits what the asyncio consumer returns."""

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        super().__init__(name=f"reader-{name}", daemon=True)
        self.orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._called, self._told = name, told
        self._settings: dict[str, Any] = dict(told["settings"])
        self._most = int(self._settings.pop("max.poll.records"))
        self._style = self._settings.pop("reads.by", "consume")
        self._kind = self._settings.pop("interceptor.classes", None)
        self._misled_to = self._settings.pop("misled.to", None)
        self._commits, self._pause_s = told["commits"], told["pause"] / 1000
        self._positions: dict[int, int] = {}

    def run(self) -> None:
        try:
            if self._commits == "store":
                self._settings |= {"enable.auto.commit": True, "enable.auto.offset.store": False}
            if self._style == "aio":
                asyncio.run(self._run_async())
            else:
                made = confluent_kafka.Consumer if self._kind is None else offset_sync_consumer.Consumer
                self._read(made(self._settings), lambda called, *words, **more: called(*words, **more))
        except BaseException as failure:
            say(self._called, failed=repr(failure))

    async def _run_async(self) -> None:
        # The reader goes on in a thread of its own; what it calls is awaited here.
        loop = asyncio.get_running_loop()

        def do(called: Callable[..., Awaitable[Any]], *words: Any, **more: Any) -> Any:
            async def call() -> Any:
                return await called(*words, **more)

            return asyncio.run_coroutine_threadsafe(call(), loop).result()

        await asyncio.to_thread(self._read, AIOConsumer(self._settings), do)

    def _read(self, consumer: Any, do: Callable[..., Any]) -> None:
        if self._misled_to is not None:
            consumer._skip_read._commits._settings["bootstrap.servers"] = self._misled_to
        do(consumer.subscribe, [self._told["topic"]])
        while self._obeys(consumer, do):
            messages = self._fetch(consumer, do)
            assert [str(each.error()) for each in messages if each.error()] == []
            if messages:
                rows = [[each.partition(), each.offset(), (each.value() or b"").decode()] for each in messages]
                say(self._called, records=rows)
                self._commit(consumer, do, messages)
                time.sleep(self._pause_s)
            self._tell_positions(consumer, do)
        if self._kind is not None:
            open_clients = int(consumer._skip_read._commits.is_open)
            say(self._called, metrics=consumer.skip_counters() | {"admin threads": open_clients})
        do(consumer.close)
        say(self._called, closed=True)

    def _fetch(self, consumer: Any, do: Callable[..., Any]) -> list[Message]:
        if self._style == "poll":
            message = do(consumer.poll, 0.1)
            return [] if message is None else [message]
        found: list[Message] = do(consumer.consume, self._most, 0.1)
        return found

    def _obeys(self, consumer: Any, do: Callable[..., Any]) -> bool:
        if self.orders.empty():
            return True
        order = self.orders.get()
        if order["do"] == "hurry":
            self._pause_s = 0
        elif order["do"] == "seek":
            do(consumer.seek, TopicPartition(order["topic"], order["partition"], order["offset"]))
            self._positions.clear()
            say(self._called, sought=True)
        return bool(order["do"] != "stop")

    def _commit(self, consumer: Any, do: Callable[..., Any], messages: list[Message]) -> None:
        if self._commits == "batch":
            do(consumer.commit, asynchronous=False)
        for each in messages:
            if self._commits == "record":
                do(consumer.commit, message=each, asynchronous=False)
            elif self._commits == "store":
                do(consumer.store_offsets, message=each)

    def _tell_positions(self, consumer: Any, do: Callable[..., Any]) -> None:
        assigned = do(consumer.assignment)
        found = do(consumer.position, assigned) if assigned else []
        # librdkafka knows no position before the first record, and then the consumer is where its group is.
        if unknown := [TopicPartition(each.topic, each.partition) for each in found if each.offset == OFFSET_INVALID]:
            found = [each for each in found if each.offset != OFFSET_INVALID] + do(consumer.committed, unknown, 30)
        now = {each.partition: each.offset for each in found}
        changed = {place: at for place, at in now.items() if self._positions.get(place) != at}
        self._positions |= changed
        if changed:
            say(self._called, positions=changed)


def main() -> None:
    logging.addLevelName(logging.WARNING, "WARN")  # as Java calls it
    logging.basicConfig(filename=sys.argv[1], level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    readers: dict[str, Reader] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "start":
            readers[order["name"]] = Reader(order["name"], order)
            readers[order["name"]].start()
        else:
            readers[order["name"]].orders.put(order)


if __name__ == "__main__":
    main()
