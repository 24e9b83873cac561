"""The librdkafka that confluent-kafka has already loaded, bound with ctypes: its public, stable C interface only.

Committed offsets are read and written through it, because the AdminClient of confluent-kafka (2.16.1):

- ends the process with SIGSEGV when a broker answers a listing with NOT_COORDINATOR (librdkafka issue 5040), as brokers
  do while coordinators move, and on a new cluster for the very first request. The cause is a handle without
  ``rk_cgrp``: only consumer handles have one, so ours is a consumer that never joins a group.

The reason is correctness, not speed: on two busy cores shared with the broker, writing this way reached 0.5 to 1.4
times AdminClient's rate (median 0.7), reading the same rate (benchmarks/commit_rate.py).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import confluent_kafka
from confluent_kafka import cimpl

from offset_sync.kafka.client_callbacks import Callbacks, OnConnect, OnThrottle
from offset_sync.kafka.msk_tokens import TokenError, needs_token, token_for
from offset_sync.model.errors import OtherClusterError, PlatformError
from offset_sync.model.values import CLUSTER_ID
from offset_sync.model.versions import Match, match_version

CONFLUENT_KAFKA = "2.16.1"
"""The pin in setup.cfg."""
LIBRDKAFKA = "2.16.0"
"""The version in its wheel."""
WITH_KERBEROS = "2.15.1"
"""Of both, as ``scripts/kerberos_client.py`` builds them; it has the same public functions as 2.16.0."""
KEEPS_BROKERS = {"metadata.recovery.strategy": "none"}
"""For every client. By default one that has lost all brokers drops them and starts again from ``bootstrap.servers``.

The thread of a dropped broker that is still referenced, as by an unanswered request, runs for ever and checks a
thousand times a second whether it may end (2.16, ``rd_kafka_broker_ops_io_serve``): 5 % of a core, for each outage
again. We replace an unanswered client ourselves, and the new one starts from ``bootstrap.servers``.
"""
CONNECTS_TO_ALL = {"enable.sparse.connections": "false"}
"""For every client. By default one connects only to the brokers that it has requests for.

If all of them are down, and a request waits for one, it retries at once, whatever ``reconnect.backoff.ms`` is (2.16,
``rd_kafka_broker_get_async``): more than half a core for each cluster that is down. Connected to all, 0.01.
"""
CLIENT_OPTIONS = {**KEEPS_BROKERS, **CONNECTS_TO_ALL, "client.id": "offset-sync", "log_level": "2"}
"""For every client of ours; a cluster's own options override them. We report errors, librdkafka does not log them."""
_REMEDY = "run 'make install', which installs the wheel of confluent-kafka that this was built with"
OPERATIONS = ("ListConsumerGroupOffsets", "AlterConsumerGroupOffsets")
_CLIENTS = (cimpl.Consumer, cimpl._AdminClientImpl)
_CONSUMER = 1
_CONF_OK = 0
_ERRSTR_BYTES = 512


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
_RefreshToken = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
"""``oauthbearer_token_refresh_cb``: the client, its ``sasl.oauthbearer.config`` and its opaque pointer."""

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "version_str": (c_char_p, ()),
    "conf_new": (c_void_p, ()),
    "conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "conf_set_throttle_cb": (None, (c_void_p, OnThrottle)),
    "conf_set_connect_cb": (None, (c_void_p, OnConnect)),
    "conf_set_oauthbearer_token_refresh_cb": (None, (c_void_p, _RefreshToken)),
    "conf_enable_sasl_queue": (None, (c_void_p, c_int)),
    "conf_get": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(c_size_t))),
    "conf_destroy": (None, (c_void_p,)),
    "new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "sasl_background_callbacks_enable": (c_void_p, (c_void_p,)),
    "oauthbearer_set_token": (
        c_int,
        (c_void_p, c_char_p, c_int64, c_char_p, c_void_p, c_size_t, c_char_p, c_size_t),
    ),
    "oauthbearer_set_token_failure": (c_int, (c_void_p, c_char_p)),
    "destroy_flags": (None, (c_void_p, c_int)),
    "clusterid": (c_void_p, (c_void_p, c_int)),
    "mem_free": (None, (c_void_p, c_void_p)),
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
    "topic_partition_list_destroy": (None, (PartitionList,)),
    "topic_partition_get_leader_epoch": (c_int32, (c_void_p,)),
    "topic_partition_set_leader_epoch": (None, (c_void_p, c_int32)),
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
        # Symbols are looked up in the extension module *and the libraries it is linked with*: this finds the librdkafka
        # that this process uses, the wheel's own or the system's, and never a second copy.
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(loaded, f"rd_kafka_{name}")
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise PlatformError(f"expected librdkafka {LIBRDKAFKA}, found another: {error}; {_REMEDY}") from error

    def __getattr__(self, name: str) -> Any:  # only for names that __init__ has not set; tells mypy that others exist
        raise AttributeError(name)

    def add_partition(
        self,
        partitions: Any,
        topic: str,
        partition: int,
        offset: int,
        leader_epoch: int | None,
        metadata: str,
    ) -> None:
        """Append a partition; *leader_epoch* None: none is sent. *metadata* is stored as bytes, without a NUL."""
        pointer = self.topic_partition_list_add(partitions, topic.encode(), partition)
        added = pointer.contents
        added.offset = offset
        if leader_epoch is not None:
            self.topic_partition_set_leader_epoch(pointer, leader_epoch)
        raw = metadata.encode()
        if raw:  # librdkafka frees it with the list, so it must come from its own allocator
            added.metadata = self.mem_malloc(None, len(raw))
            ctypes.memmove(added.metadata, raw, len(raw))
            added.metadata_size = len(raw)

    def leader_epoch_of(self, partition: PartitionStruct) -> int | None:
        """Return the leader epoch committed with an offset, None for none."""
        epoch: int = self.topic_partition_get_leader_epoch(ctypes.byref(partition))
        return None if epoch < 0 else epoch

    def features(self) -> frozenset[str]:
        """Return what this librdkafka was built with (``builtin.features``)."""
        conf, value = self.conf_new(), ctypes.create_string_buffer(_ERRSTR_BYTES)
        self.conf_get(conf, b"builtin.features", value, ctypes.byref(c_size_t(_ERRSTR_BYTES)))
        self.conf_destroy(conf)
        return frozenset(text(value.value).split(","))

    def open_consumer(self, options: Mapping[str, str], callbacks: Callbacks) -> int:
        """Return a new client handle of the consumer kind; raises ValueError for bad *options*.

        The *callbacks* have to live as long as the client.
        """
        has_tokens, conf = needs_token(options), self.conf_new()
        reason = ctypes.create_string_buffer(_ERRSTR_BYTES)
        for name, value in of_librdkafka(options).items():
            if self.conf_set(conf, name.encode(), value.encode(), reason, _ERRSTR_BYTES) != _CONF_OK:
                self.conf_destroy(conf)
                raise ValueError(text(reason.value))
        self.conf_set_throttle_cb(conf, callbacks.on_throttle)
        self.conf_set_connect_cb(conf, callbacks.on_connect)
        if has_tokens:
            self.conf_set_oauthbearer_token_refresh_cb(conf, _REFRESH)
            self.conf_enable_sasl_queue(conf, 1)
        pointer: int | None = self.new(_CONSUMER, conf, reason, _ERRSTR_BYTES)
        if not pointer:  # librdkafka owns the configuration only on success
            self.conf_destroy(conf)
            raise ValueError(text(reason.value))
        if has_tokens:  # in a thread of librdkafka: nothing polls this client
            self.sasl_background_callbacks_enable(pointer)
        return pointer

    def cluster_id(self, handle: int, seconds: float = 0.0) -> str:
        """Return the id of the cluster that a client was connected to last, "" if to none within *seconds*.

        A new connection asks for it before anything else, so it is at least as new as any answer.
        """
        pointer = self.clusterid(handle, round(seconds * 1000))
        found = text(ctypes.string_at(pointer)) if pointer else ""
        self.mem_free(handle, pointer)
        return found

    def set_token(self, handle: int, option: str) -> None:
        """Give a client its next token, or the reason why there is none: it asks again ten seconds later."""
        reason = ctypes.create_string_buffer(_ERRSTR_BYTES)
        try:
            value, ends_ms = token_for(option)
            failed = self.oauthbearer_set_token(handle, value.encode(), ends_ms, b"", None, 0, reason, _ERRSTR_BYTES)
            problem = text(reason.value) if failed else ""
        except (TokenError, PlatformError) as error:
            problem = str(error)
        if problem:
            self.oauthbearer_set_token_failure(handle, problem.encode())

    def ask(self, operation: str, handle: int, group: str, partitions: Any, options: int, queue: int) -> None:
        """Send the request of one group; *partitions* are copied, None means all of them."""
        request = c_void_p(getattr(self, f"{operation}_new")(group.encode(), partitions))
        getattr(self, operation)(handle, ctypes.byref(request), 1, options, queue)
        getattr(self, f"{operation}_destroy")(request)

    def group_of(self, operation: str, event: int) -> int:
        """Return the result of the one group in the answer to a request; valid as long as *event* is."""
        result = getattr(self, f"event_{operation}_result")(event)
        found: int = getattr(self, f"{operation}_result_groups")(result, ctypes.byref(c_size_t()))[0]
        return found


def _refresh(handle: int, option: bytes | None, _: int | None) -> None:
    library().set_token(handle, text(option))


_REFRESH = _RefreshToken(_refresh)
"""Librdkafka keeps its address, so it lives as long as this module."""


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Return the bound library; it is checked once per process, as by :func:`check_client`."""
    bound = Library(cimpl.__file__)
    _remarks(bound)  # the layout of structures is known by the version
    return bound


def check_client() -> list[str]:
    """Return lines for the log; raises PlatformError, in one line, for a client that cannot be used.

    The rule for versions is that of ``model/versions.py``; the one client with Kerberos is accepted too. All functions
    are looked up, without a request to a broker.
    """
    return _remarks(library())


def _remarks(bound: Library) -> list[str]:
    found = {"confluent-kafka": str(confluent_kafka.__version__), "librdkafka": text(bound.version_str())}
    if set(found.values()) == {WITH_KERBEROS}:
        return []
    expected = {"confluent-kafka": CONFLUENT_KAFKA, "librdkafka": LIBRDKAFKA}
    texts = {name: f"expected {name} {expected[name]}, found {version}" for name, version in found.items()}
    matches = {name: match_version(expected[name], version) for name, version in found.items()}
    if refused := [texts[name] for name, match in matches.items() if match is Match.OTHER]:
        raise PlatformError("; ".join([*refused, _REMEDY]))
    return [texts[name] for name, match in matches.items() if match is Match.SIMILAR]


def of_librdkafka(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return *options* without ours."""
    return {name: value for name, value in options.items() if name != CLUSTER_ID}


def cluster_id_of(client: Any, seconds: float = 0.0) -> str:
    """Return :meth:`Library.cluster_id` of a client of confluent-kafka, whose first field is its handle (2.16.1)."""
    if not isinstance(client, _CLIENTS):
        return ""  # of a test
    handle = ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value
    return library().cluster_id(handle, seconds) if handle else ""


def refuse_other(alias: str, known: str, found: str) -> None:
    """Raise OtherClusterError where the cluster *alias* had the id *known* and has the id *found*; "" is not known."""
    if known and found and known != found:
        raise OtherClusterError(
            alias,
            f"its id is {found} and was {known}, so bootstrap.servers lead to another cluster: correct them, or if it "
            "was rebuilt on purpose, see docs/operations.md, A cluster with another id",
        )


def elements(partitions: Any) -> list[PartitionStruct]:
    """Return the elements of a partition list (none of a null pointer); valid as long as the list is."""
    return list(partitions.contents.elems[: partitions.contents.cnt]) if partitions else []


def metadata_of(partition: PartitionStruct) -> str:
    """Return all of the metadata; bytes that are not UTF-8 (Kafka stores none) are replaced."""
    if not partition.metadata:
        return ""
    return ctypes.string_at(partition.metadata, partition.metadata_size).decode(errors="replace")


def text(raw: bytes | None) -> str:
    """Return a C string as text."""
    return (raw or b"").decode(errors="replace")
