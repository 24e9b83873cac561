"""The librdkafka that confluent-kafka has already loaded, bound with ctypes: its public, stable C interface only.

Committed offsets are read, written and deleted through it, because the AdminClient of confluent-kafka (2.16.1):

- stores metadata with the NUL that ends a C string, which breaks what Kafka Streams keeps there;
- ends the process with SIGSEGV when a broker answers a listing with NOT_COORDINATOR (librdkafka issue 5040), as brokers
  do while coordinators move, and on a new cluster at the very first question. Cause is a handle without ``rk_cgrp``:
  only consumer handles have one, so ours is a consumer that never joins anything;
- has no OffsetDelete.

Being right is the reason, not speed: on two busy cores shared with the broker, writing this way reached 0.5 to 1.4
times AdminClient's rate (median 0.7), reading the same rate (benchmarks/commit_rate.py). One path for both, without a
fallback that would be right only as long as nobody uses metadata.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import os
import weakref
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

from confluent_kafka import cimpl

from offset_sync.model.errors import OffsetSyncError

OPERATIONS = ("ListConsumerGroupOffsets", "AlterConsumerGroupOffsets", "DeleteConsumerGroupOffsets")
_CONSUMER = 1
_NO_CONSUMER_CLOSE = 0x8
_CONF_OK = 0
_ERROR_EVENTS = 0x8
_ERRSTR_BYTES = 512


class BindingError(OffsetSyncError):
    """librdkafka is missing, differs from its header, or refused the options."""


class PartitionStruct(ctypes.Structure):
    """``rd_kafka_topic_partition_t``."""

    _fields_ = (
        ("topic", c_char_p),
        ("partition", c_int32),
        ("offset", c_int64),
        ("metadata", c_void_p),
        ("metadata_size", c_size_t),
        ("opaque", c_void_p),
        ("err", c_int),
        ("_private", c_void_p),
    )


class PartitionListStruct(ctypes.Structure):
    """``rd_kafka_topic_partition_list_t``."""

    _fields_ = (("cnt", c_int), ("size", c_int), ("elems", POINTER(PartitionStruct)))


PartitionList = POINTER(PartitionListStruct)

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "conf_new": (c_void_p, ()),
    "conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "conf_set_events": (None, (c_void_p, c_int)),
    "conf_destroy": (None, (c_void_p,)),
    "new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "destroy_flags": (None, (c_void_p, c_int)),
    "mem_malloc": (c_void_p, (c_void_p, c_size_t)),
    "err2name": (c_char_p, (c_int,)),
    "error_code": (c_int, (c_void_p,)),
    "error_string": (c_char_p, (c_void_p,)),
    "queue_new": (c_void_p, (c_void_p,)),
    "queue_get_main": (c_void_p, (c_void_p,)),
    "queue_poll": (c_void_p, (c_void_p, c_int)),
    "queue_destroy": (None, (c_void_p,)),
    "event_error": (c_int, (c_void_p,)),
    "event_error_string": (c_char_p, (c_void_p,)),
    "event_opaque": (c_void_p, (c_void_p,)),
    "event_destroy": (None, (c_void_p,)),
    "AdminOptions_new": (c_void_p, (c_void_p, c_int)),
    "AdminOptions_destroy": (None, (c_void_p,)),
    "AdminOptions_set_request_timeout": (c_int, (c_void_p, c_int, c_char_p, c_size_t)),
    "AdminOptions_set_require_stable_offsets": (c_void_p, (c_void_p, c_int)),
    "AdminOptions_set_opaque": (None, (c_void_p, c_void_p)),
    "topic_partition_list_new": (PartitionList, (c_int,)),
    "topic_partition_list_add": (POINTER(PartitionStruct), (PartitionList, c_char_p, c_int32)),
    "topic_partition_list_copy": (PartitionList, (PartitionList,)),
    "topic_partition_list_destroy": (None, (PartitionList,)),
    "group_result_error": (c_void_p, (c_void_p,)),
    "group_result_partitions": (PartitionList, (c_void_p,)),
}
for _operation in OPERATIONS:
    _SIGNATURES[f"{_operation}_new"] = (c_void_p, (c_char_p, PartitionList))
    _SIGNATURES[f"{_operation}_destroy"] = (None, (c_void_p,))
    _SIGNATURES[_operation] = (None, (c_void_p, POINTER(c_void_p), c_size_t, c_void_p, c_void_p))
    _SIGNATURES[f"event_{_operation}_result"] = (c_void_p, (c_void_p,))
    _SIGNATURES[f"{_operation}_result_groups"] = (POINTER(c_void_p), (c_void_p, POINTER(c_size_t)))


class Library:
    """Every bound function as an attribute, without the ``rd_kafka_`` before its name."""

    def __init__(self, path: str) -> None:
        # Symbols are looked up in the extension module *and what it is linked with*: whatever librdkafka this process
        # really uses is found, the wheel's own or the system's, and never a second copy.
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(loaded, f"rd_kafka_{name}")
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise BindingError(f"librdkafka cannot be bound ({error}); install the confluent-kafka wheel") from error
        self._refuse_another_layout()

    def __getattr__(self, name: str) -> Any:  # only for what __init__ has not set; tells mypy that the rest is there
        raise AttributeError(name)

    def add_partition(
        self, partitions: Any, topic: str, partition: int, offset: int = -1001, metadata: str = ""
    ) -> None:
        """Append a partition; *metadata* is kept to the byte, without a NUL, and no leader epoch is set."""
        added = self.topic_partition_list_add(partitions, topic.encode(), partition).contents
        added.offset = offset
        raw = metadata.encode()
        if raw:  # librdkafka frees it with the list, so it must come from its own allocator
            added.metadata = self.mem_malloc(None, len(raw))
            ctypes.memmove(added.metadata, raw, len(raw))
            added.metadata_size = len(raw)

    def _refuse_another_layout(self) -> None:
        """Raise BindingError unless librdkafka itself reads from the structures what was written to them."""
        partitions = self.topic_partition_list_new(2)
        self.add_partition(partitions, "first", 1, 11, "a\0b")
        self.add_partition(partitions, "second", 2, 22, "é")
        copied = self.topic_partition_list_copy(partitions)
        self.topic_partition_list_destroy(partitions)
        found = [(each.topic, each.partition, each.offset, metadata_of(each), each.err) for each in elements(copied)]
        self.topic_partition_list_destroy(copied)
        if found != [(b"first", 1, 11, "a\0b", 0), (b"second", 2, 22, "é", 0)]:
            raise BindingError("librdkafka's structures differ from those of its header; use another confluent-kafka")


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Return the bound library, checked once per process."""
    return Library(cimpl.__file__)


def elements(partitions: Any) -> list[PartitionStruct]:
    """Return the elements of a partition list (none of a null pointer); they live as long as the list does."""
    return list(partitions.contents.elems[: partitions.contents.cnt]) if partitions else []


def metadata_of(partition: PartitionStruct) -> str:
    """Return the metadata, all of its bytes; what is no UTF-8 (Kafka stores none) is replaced."""
    if not partition.metadata:
        return ""
    return ctypes.string_at(partition.metadata, partition.metadata_size).decode(errors="replace")


class ConsumerHandle:
    """An ``rd_kafka_t`` of the consumer kind, which never subscribes, polls or commits; destroyed with its last user.

    *options* are librdkafka's. A ``group.id`` must be there to get an ``rk_cgrp`` (see above); it is only looked up.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library = library()
        conf = self._library.conf_new()
        reason = ctypes.create_string_buffer(_ERRSTR_BYTES)
        for name, value in options.items():
            if self._library.conf_set(conf, name.encode(), value.encode(), reason, _ERRSTR_BYTES) != _CONF_OK:
                self._library.conf_destroy(conf)
                raise BindingError(text(reason.value))
        self._library.conf_set_events(conf, _ERROR_EVENTS)
        self.pointer: int | None = self._library.new(_CONSUMER, conf, reason, _ERRSTR_BYTES)
        if not self.pointer:  # only on success does librdkafka take the configuration over
            self._library.conf_destroy(conf)
            raise BindingError(text(reason.value))
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


def text(raw: bytes | None) -> str:
    """Return a C string as text."""
    return (raw or b"").decode(errors="replace")


def _destroy(bound: Library, pointer: int, owner: int) -> None:
    """Let librdkafka take a client down, and wait for nothing.

    After a broker was away and came back that may never end (librdkafka issue 4674), and whoever drops a client holds
    a lock. A thread of threading would not do: its start takes locks, and this may be called in the middle of anything.
    """
    if os.getpid() == owner:  # a forked child has the memory but not the threads: destroying would wait for ever
        _thread.start_new_thread(bound.destroy_flags, (pointer, _NO_CONSUMER_CLOSE))
