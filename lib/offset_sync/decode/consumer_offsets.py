"""Records of ``__consumer_offsets`` to typed rows, and a group's partition of it, as by Kafka's ``partitionFor``.

Record types, kinds, layouts, and a decoder that says what is wrong. Source: schema files of Kafka's group coordinator,
4.3.0 and 4.4.0, and ``CoordinatorRecordSerde``. Integers are big-endian; strings are never null, an int16 length in
front. Trailing bytes are no error, as for Kafka. Anything else that is not understood, another version included, is
malformed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

COMMIT = "commit"
GROUP = "group"
GROUP_EPOCH = "group_epoch"
MEMBER = "member"
IGNORED = "ignored"
MALFORMED = "malformed"

COMMIT_TYPES = (0, 1)
# Type 9 and 18 existed in some releases only; every type that is not listed here is ignored, as the broker does.
KIND_OF_TYPE = {
    **dict.fromkeys(COMMIT_TYPES, COMMIT),
    2: GROUP,
    3: GROUP_EPOCH,  # 3 and 5: KIP-848
    5: MEMBER,
}
"""The record types that are decoded."""
COMMIT_VERSIONS = range(5)
"""Versions of a commit's value; the order is always offset, epoch, metadata, times, tags."""
UNKNOWN_VERSION = " is unknown for record type"
"""Part of the error for an unknown value version of a known record type."""

TOPIC_ID_TAG = 0
UUID_BYTES = 16
_INT16, _INT32, _INT64 = 2, 4, 8

Row = dict[str, Any]
RECORDS = pa.schema(
    [
        ("kind", pa.string()),
        ("is_tombstone", pa.bool_()),
        ("record_type", pa.int16()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", pa.string()),
        ("topic_id", pa.string()),
        ("committed_at_ms", pa.int64()),
        ("expires_at_ms", pa.int64()),
        ("generation", pa.int32()),
        ("members", pa.int32()),
        ("member_id", pa.string()),
        ("protocol_type", pa.string()),
        ("error", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""The columns of a decoded batch. Fields that the record's kind does not have are null, and so are absent values.

``key`` and ``value`` only where malformed.
"""


def decode_records(key: pa.Array, value: pa.Array) -> pa.RecordBatch:
    """Decode binary keys and values of equal length into one :data:`RECORDS` row per record, in order.

    Never fails on a record's bytes: a row that cannot be read has kind ``malformed`` and its reason in ``error``.
    Record types without offsets or groups have kind ``ignored``, unknown ones included, because the broker ignores
    those as well. A null value is a tombstone, a null key is malformed.
    """
    return pa.RecordBatch.from_pylist([*map(decode_record, key.to_pylist(), value.to_pylist())], RECORDS)


def decode_record(key: bytes | None, value: bytes | None) -> Row:
    """Return the columns of one record, by name, without those that are null; never raises.

    A record that cannot be read is ``malformed``, has its bytes, and says why in ``error``. With a malformed value the
    columns of the key are there, with a malformed key at most the record type.
    """
    row: Row = {**_decode_key(key), "is_tombstone": value is None}
    if value is not None and row["kind"] in _VALUES:
        try:
            row |= _value_columns(value, row["kind"], row["record_type"])
        except DecodeError as problem:
            row |= {"kind": MALFORMED, "error": str(problem)}
    return row | {"key": key, "value": value} if row["kind"] == MALFORMED else row


@functools.lru_cache(maxsize=1 << 14)
def _decode_key(key: bytes | None) -> Row:
    """Read a key; most keys of the log come again. Keys are never flexible, whatever the value's version is."""
    row: Row = {"kind": MALFORMED}
    try:
        if key is None:
            raise DecodeError("key is null")
        cursor = Cursor(key, "key")
        record_type = row["record_type"] = cursor.integer(_INT16, "record type")
        return row | _key_columns(cursor, KIND_OF_TYPE.get(record_type, IGNORED))
    except DecodeError as problem:
        return row | {"error": str(problem)}


def _key_columns(cursor: Cursor, kind: str) -> Row:
    row: Row = {"kind": kind}
    if kind == IGNORED:
        return row
    row["group_id"] = cursor.text("group")
    if kind == MEMBER:
        row["member_id"] = cursor.text("member")
    if kind == COMMIT:
        row |= {"topic": cursor.text("topic"), "partition": cursor.integer(_INT32, "partition")}
        # No broker writes these two; in one of our requests they would fail all partitions of the group.
        if not row["topic"]:
            raise cursor.error("topic is empty")
        if row["partition"] < 0:
            raise cursor.error(f"partition {row['partition']} is negative")
    return row


def _value_columns(value: bytes, kind: str, record_type: int) -> Row:
    """Read a commit's whole value; of the others no more than is returned."""
    cursor = Cursor(value, "value")
    version = cursor.integer(_INT16, "version")
    versions, read = _VALUES[kind]
    if version not in versions:
        raise DecodeError(f"value version {version}{UNKNOWN_VERSION} {record_type}")
    return read(cursor, version)


def _commit(cursor: Cursor, version: int) -> Row:
    row: Row = {"committed_offset": cursor.integer(_INT64, "offset")}
    if version >= 3 and (epoch := cursor.integer(_INT32, "leader epoch")) >= 0:
        row["leader_epoch"] = epoch
    row["metadata"] = cursor.text("metadata", compact=version >= 4)
    row["committed_at_ms"] = cursor.integer(_INT64, "commit timestamp")
    if version == 1 and (expires_at_ms := cursor.integer(_INT64, "expire timestamp")) >= 0:
        row["expires_at_ms"] = expires_at_ms
    if version >= 4 and (topic_id := cursor.tags().get(TOPIC_ID_TAG)) is not None:
        if len(topic_id) != UUID_BYTES:
            raise cursor.error(f"topic id has {len(topic_id)} bytes, not {UUID_BYTES}")
        row["topic_id"] = _to_uuid_text(topic_id)
    return row


@functools.lru_cache(maxsize=1 << 14)
def _to_uuid_text(octets: bytes) -> str | None:
    """Return a UUID of 16 bytes as 36 characters; zero is an unknown one."""
    return str(UUID(bytes=octets)) if any(octets) else None


def _classic_group(cursor: Cursor, version: int) -> Row:
    """GroupMetadataValue, versions 0 to 4: a group with members is active, one without is empty."""
    compact = version >= 4
    protocol_type = cursor.text("protocol type", compact=compact)
    generation = cursor.integer(_INT32, "generation")
    cursor.nullable_string("protocol", compact=compact)
    cursor.nullable_string("leader", compact=compact)
    if version >= 2:
        cursor.integer(_INT64, "state timestamp")
    return {
        "generation": generation,
        "members": cursor.count("members", compact=compact),
        "protocol_type": protocol_type,
    }


def _group_epoch(cursor: Cursor, _version: int) -> Row:
    """ConsumerGroupMetadataValue (KIP-848)."""
    return {"generation": cursor.integer(_INT32, "epoch")}


def _member(_cursor: Cursor, _version: int) -> Row:
    """ConsumerGroupMemberMetadataValue (KIP-848): the member exists as long as the record does."""
    return {}


_VALUES: dict[str, tuple[range, Callable[[Cursor, int], Row]]] = {
    COMMIT: (COMMIT_VERSIONS, _commit),
    GROUP: (range(5), _classic_group),
    GROUP_EPOCH: (range(1), _group_epoch),
    MEMBER: (range(1), _member),
}
"""The value versions that are known, and their decoder, per kind."""


_VARINT_BYTES = 5
_VARINT_LIMIT = 1 << 32


class DecodeError(ValueError):
    """The bytes are not what the format allows; the message names the part, the field and the lengths."""


class Cursor:
    """Reads fields one after the other; *part* (``key`` or ``value``) begins every message.

    Every read checks the bounds first and raises :class:`DecodeError`. Bytes left over after the last field are no
    error: the broker does not check them either. *compact* lengths are varints of length + 1, as in flexible versions.
    """

    def __init__(self, octets: bytes, part: str) -> None:
        self._octets, self._part = octets, part
        self._position = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._octets) - self._position

    def error(self, message: str) -> DecodeError:
        """Return an error that says which part is meant."""
        return DecodeError(f"{self._part}: {message}")

    def integer(self, width: int, field: str) -> int:
        """Read a signed big-endian integer of *width* bytes."""
        if self.left < width:
            raise self.error(f"{field} needs {width} bytes, {self.left} left")
        return int.from_bytes(self._take(width), "big", signed=True)

    def varint(self, field: str) -> int:
        """Read an unsigned varint of at most five bytes and 32 bits."""
        number = 0
        for index in range(_VARINT_BYTES):
            if not self.left:
                raise self.error(f"{field} varint is cut off after {index} bytes")
            octet = self._take(1)[0]
            number |= (octet & 0x7F) << (7 * index)
            if octet < 0x80:
                if number >= _VARINT_LIMIT:
                    raise self.error(f"{field} varint exceeds 32 bits")
                return number
        raise self.error(f"{field} varint is longer than {_VARINT_BYTES} bytes")

    def nullable_string(self, field: str, *, compact: bool) -> bytes | None:
        """Read a string that may be null."""
        length = self.length(field, 2, compact)
        return None if length == -1 else self._take(self.checked(length, field))

    def text(self, field: str, *, compact: bool = False) -> str:
        """Read a string as text, NUL bytes included; anything but valid UTF-8 is an error."""
        try:
            return self._take(self.checked(self.length(field, 2, compact), field)).decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"{field} is not valid UTF-8") from None

    def count(self, field: str, *, compact: bool) -> int:
        """Read the size of an array that may not be null; an element has at least one byte."""
        return self.checked(self.length(field, 4, compact), field)

    def tags(self) -> dict[int, bytes]:
        """Read the tagged fields that end a flexible struct; of a repeated tag the last one counts, as in Java."""
        number = self.varint("tag count")
        if number > self.left:
            raise self.error(f"tag count {number} exceeds the {self.left} bytes left")
        return {self.varint("tag"): self._tagged_field() for _ in range(number)}

    def length(self, field: str, width: int, compact: bool) -> int:
        """Read a length, -1 for null, of *width* bytes unless it is *compact*; see :meth:`checked`."""
        name = f"{field} length"
        return self.varint(name) - 1 if compact else self.integer(width, name)

    def checked(self, length: int, field: str) -> int:
        """Return a *length* that is not null, and not more than there are bytes left."""
        if length == -1:
            raise self.error(f"{field} is null")
        if length < 0:
            raise self.error(f"{field} length {length} is negative")
        if length > self.left:
            raise self.error(f"{field} length {length} exceeds the {self.left} bytes left")
        return length

    def _tagged_field(self) -> bytes:
        return self._take(self.checked(self.varint("tag size"), "tagged field"))

    def _take(self, length: int) -> bytes:
        taken = self._octets[self._position : self._position + length]
        self._position += length
        return taken


def coordinator_hashes(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the hash of each group, shape (groups,): modulo the partition count it is the group's partition.

    The absolute value of Java's ``String.hashCode`` over UTF-16 units; 0 for the smallest int32 (``Utils.abs``).

    >>> coordinator_hashes(["", "a", "billing"]).tolist()
    [0, 97, 109829509]
    """
    raw = [group.encode("utf-16-le", "surrogatepass") for group in groups]
    length = np.array([len(each) // 2 for each in raw], np.int64)
    units: NDArray[np.uint16] = np.frombuffer(b"".join(raw), "<u2")
    first = np.cumsum(length) - length
    code = np.zeros(len(groups), np.uint32)
    for number in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > number)
        code[rows] = code[rows] * np.uint32(31) + units[first[rows] + number]
    signed = code.view(np.int32).astype(np.int64)
    return np.where(signed == -(1 << 31), 0, np.abs(signed))


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Return a group's partition of ``__consumer_offsets``, which has *partitions* of them, at least one."""
    return int(coordinator_hashes([group_id])[0]) % partitions
