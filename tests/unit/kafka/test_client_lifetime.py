"""A client of librdkafka is closed when its last reference is dropped, in that thread: never by the garbage collector.

That takes a client in a circle of references apart before it is closed, which has ended the process.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from offset_sync.kafka.group_members import GroupStates
from offset_sync.kafka.topic_requests import TopicRequests

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("kind", [TopicRequests, GroupStates], ids=lambda kind: kind.__name__)
def test_a_client_of_a_circle_is_no_garbage_before_it_is_closed(kind: Callable[..., Any]) -> None:
    """As a job is one: what the collector finds it takes apart."""
    circle: list[Any] = [kind("dc1", UNREACHABLE)]
    client = weakref.ref(circle[0]._client)
    circle.append(circle)
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        del circle
        gc.collect()
        found = [type(each) for each in gc.garbage]
    finally:
        gc.set_debug(0)
        for each in [found for found in gc.garbage if isinstance(found, list)]:
            each.clear()  # opens the circle
        gc.garbage.clear()
    assert kind in found
    assert AdminClient not in found
    assert ends(lambda: client() is None)


def ends(is_over: Callable[[], bool]) -> bool:
    """Return whether something that another thread does is over soon."""
    ends_at = time.monotonic() + 30
    while not is_over() and time.monotonic() < ends_at:
        time.sleep(0.01)
    return is_over()
