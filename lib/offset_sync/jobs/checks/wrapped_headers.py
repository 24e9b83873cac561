"""Header values that a wrong converter of Kafka Connect has written: base64, JSON, or Java's name of an array. Pure.

MirrorMaker's connectors hand header values on as bytes, and only ByteArrayConverter writes these as they are. The
default of Connect writes ``dc1`` as ``ZGMx``, JsonConverter as ``"ZGMx"`` or ``{"schema": …, "payload": "ZGMx"}``, and
StringConverter as ``[B@1b2c3d``, of which nobody can tell what it was.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Iterator

from offset_sync.decode.mirror_headers import Encoding

_DIGITS = re.compile(rb"[0-9]{1,19}")
_ARRAY_OF_JAVA = re.compile(rb'"?\[B@[0-9a-f]{1,8}"?')
_LONGEST = 1_000


def wrapped_origin(value: bytes, known: Collection[str]) -> str:
    """Return what was done to the origin header, in words; empty where it is a *known* origin or nobody can tell."""
    if _text(value) in known:
        return ""
    found = next((each for each in _inner(value) if _text(each[1]) in known), None)
    return f"{_shown(value)}, {found[0]} of {_text(found[1])}" if found else _of_java(value)


def wrapped_offset(value: bytes, encoding: Encoding) -> str:
    """Return the same of the offset header; empty where it can be read as it is."""
    if _is_offset(value, encoding):
        return ""
    found = next((each for each in _inner(value) if _is_offset(each[1], encoding)), None)
    if found is None:
        return _of_java(value)
    number = found[1].decode() if encoding == "text" else str(int.from_bytes(found[1], "big"))
    return f"{_shown(value)}, {found[0]} of {number}"


def _inner(value: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield how the value may have been wrapped, and what was in it."""
    if len(value) > _LONGEST:
        return
    if (bare := _from_base64(value)) is not None:
        yield "base64", bare
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return
    payload = found.get("payload") if isinstance(found, dict) else found
    if isinstance(payload, (str, int)) and not isinstance(payload, bool):
        octets = str(payload).encode("utf-8", "replace")
        yield "JSON", octets
        if (inside := _from_base64(octets)) is not None:
            yield "JSON with base64", inside


def _from_base64(value: bytes) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _is_offset(value: bytes, encoding: Encoding) -> bool:
    if encoding == "text":
        return _DIGITS.fullmatch(value) is not None
    return len(value) == 8 and value[0] < 0x40 and not value.isdigit()


def _of_java(value: bytes) -> str:
    is_array = _ARRAY_OF_JAVA.fullmatch(value) is not None
    return f"{_shown(value)}, Java's name of an array and not what is in it" if is_array else ""


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _shown(value: bytes) -> str:
    text = _text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
