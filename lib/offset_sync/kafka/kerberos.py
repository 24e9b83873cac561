"""Kerberos (GSSAPI) for the Python client: one login for the whole process, by a keytab.

librdkafka's own way is to run ``kinit`` for every client, once a minute, into the user's one ticket cache, which all
jobs and clusters on a machine would share. Instead the Kerberos library (MIT's) gets and renews the tickets: from the
keytab that ``KRB5_CLIENT_KTNAME`` names, into a cache in the memory of this process. Eighty clients in a row make two
requests to the KDC. Tables on HDFS use the same login.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

from offset_sync.kafka.librdkafka import library
from offset_sync.model.errors import PlatformError

MECHANISM = "GSSAPI"
_FEATURE = "sasl_gssapi"
_CACHE = "MEMORY:offset-sync"
_KEYTAB = "KRB5_CLIENT_KTNAME"
_MAGIC = b"\x05\x02"


def log_in(options: Mapping[str, str]) -> None:
    """Prepare this process for the Kerberos login in *options*, which are librdkafka's; may be repeated.

    Nothing is requested from a KDC yet: that is done for each connection. Raises PlatformError, in one line, for a
    client without Kerberos, and for a keytab that cannot be used.
    """
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms", ""))
    if mechanism.upper() != MECHANISM or not options.get("security.protocol", "").upper().startswith("SASL"):
        return
    if _FEATURE not in library().features():
        raise PlatformError(
            "the installed Python client has no Kerberos (GSSAPI), as the published wheels of confluent-kafka; install "
            "one built by scripts/kerberos_client.py (docs/deployment.md, Kerberos)"
        )
    if keytab := options.get("sasl.kerberos.keytab"):
        _check_principal(keytab, options.get("sasl.kerberos.principal", ""))
        _use(keytab)


def _check_principal(keytab: str, principal: str) -> None:
    """Raise PlatformError unless *keytab* begins with *principal*: the library takes the first one."""
    try:
        found = first_principal(Path(keytab).read_bytes())
    except OSError as error:
        raise PlatformError(
            f"keytab {keytab} cannot be read ({error.strerror}); correct the path or its rights"
        ) from error
    except (struct.error, UnicodeDecodeError, ValueError):
        raise PlatformError(f"{keytab} is no keytab; write one by ktadd of kadmin, or by ktutil") from None
    if principal not in (found, found.rpartition("@")[0]):
        text = f"keytab {keytab} begins with {found}, not with principal {principal}, and the Python client takes the"
        raise PlatformError(f"{text} first; give it a keytab of its own, or correct the principal")


def _use(keytab: str) -> None:
    known = os.environ.get(_KEYTAB, keytab)
    if known.removeprefix("FILE:") != keytab:
        text = f"keytab {keytab} is not the {known} of another cluster or of {_KEYTAB}, and a process has one Kerberos"
        raise PlatformError(f"{text} login: name the same file")
    os.environ |= {_KEYTAB: keytab, "KRB5CCNAME": _CACHE}


def first_principal(keytab: bytes) -> str:
    """Return the principal of the first key, as ``name/instance@REALM``; struct.error or ValueError for other bytes.

    The layout is that of version 2 (MIT's documentation, "Keytab file format"). A negative size is that of a deleted
    entry.
    """
    if not keytab.startswith(_MAGIC):
        raise ValueError("not version 2")
    at = len(_MAGIC)
    while (size := struct.unpack_from(">i", keytab, at)[0]) <= 0:
        at += 4 - size
        if not size:
            raise ValueError("no key")
    (count,), at = struct.unpack_from(">H", keytab, at + 4), at + 6
    texts: list[str] = []
    for _ in range(1 + count):
        (length,) = struct.unpack_from(">H", keytab, at)
        texts.append(struct.unpack_from(f">{length}s", keytab, at + 2)[0].decode())
        at += 2 + length
    return f"{'/'.join(texts[1:])}@{texts[0]}"
