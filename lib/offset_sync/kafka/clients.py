"""Opening a client of confluent-kafka: its options, its login, and what it says where it rejects them.

Kerberos (GSSAPI): one login for the whole process, by a keytab. librdkafka's own way is to run ``kinit`` for every
client, once a minute, into the user's one ticket cache, which all jobs and clusters on a machine would share. Instead
the Kerberos library (MIT's) gets and renews the tickets: from the keytab that ``KRB5_CLIENT_KTNAME`` names, into a
cache in the memory of this process. Eighty clients in a row make two requests to the KDC. Tables on HDFS use the same
login.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import KafkaException

from offset_sync.kafka.librdkafka import CLIENT_OPTIONS, library, of_librdkafka
from offset_sync.kafka.msk_tokens import with_tokens
from offset_sync.model.errors import ClusterError, PlatformError

_KEYTAB = "KRB5_CLIENT_KTNAME"
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


def log_in(options: Mapping[str, str]) -> None:
    """Prepare this process for the Kerberos login in *options*, which are librdkafka's; may be repeated.

    Nothing is requested from a KDC yet: that is done for each connection. Raises PlatformError, in one line, for a
    client without Kerberos, and for a keytab that cannot be used.
    """
    if options.get("sasl.mechanism") != "GSSAPI":
        return
    if "sasl_gssapi" not in library().features():
        raise PlatformError(
            "the installed Python client has no Kerberos (GSSAPI), as the published wheels of confluent-kafka; install "
            "one built by scripts/kerberos_client.py (docs/deployment.md, Kerberos)"
        )
    if not (keytab := options.get("sasl.kerberos.keytab")):
        return
    if not os.access(keytab, os.R_OK):
        raise PlatformError(f"keytab {keytab} cannot be read; correct the path or its rights")
    known = os.environ.get(_KEYTAB, keytab)
    if known.removeprefix("FILE:") != keytab:
        text = f"keytab {keytab} is not the {known} of another cluster or of {_KEYTAB}, and a process has one Kerberos"
        raise PlatformError(f"{text} login: name the same file")
    # The library takes the first principal of the keytab.
    os.environ |= {_KEYTAB: keytab, "KRB5CCNAME": "MEMORY:offset-sync"}
