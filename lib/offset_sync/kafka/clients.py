"""Opening a client of confluent-kafka: its options, its login, and what it says where it rejects them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import KafkaException

from offset_sync.kafka.kerberos import log_in
from offset_sync.kafka.librdkafka import CLIENT_OPTIONS, of_librdkafka
from offset_sync.kafka.msk_tokens import with_tokens
from offset_sync.model.errors import ClusterError, PlatformError

_Client = TypeVar("_Client")


def open_client(kind: Callable[[dict[str, Any]], _Client], alias: str, options: Mapping[str, Any]) -> _Client:
    """Return a new client of the cluster *alias*, with our defaults for what *options* do not have.

    Raises ClusterError, see :func:`opening`.
    """
    given = {**CLIENT_OPTIONS, "error_cb": lambda error: None, **of_librdkafka(options)}
    with opening(alias, options):
        return kind(with_tokens(given))


@contextmanager
def opening(alias: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Log in by *options*, and raise ClusterError where the client to be opened meanwhile rejects them."""
    try:
        log_in(options)
        yield
    except PlatformError as error:  # in executors only: jobs check first
        raise ClusterError(alias, str(error)) from error
    except (KafkaException, ValueError, TypeError) as error:
        raise ClusterError(alias, f"the client rejects its options: {error}") from error
