"""A broker whose clock is wrong: Kafka's class for the time of day, patched to add some milliseconds.

The offset is added where Kafka asks for the time (``SystemTime.milliseconds``), so commits, records and everything else
of the broker bear it, while the machine's own clock is right.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

from offset_sync_demo.kafka.broker_files import find_jars

_CLASS = "org/apache/kafka/common/utils/SystemTime.class"
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_UTF8, _LONG = 1, 5
_INVOKE_STATIC, _LOAD_LONG, _ADD_LONGS, _RETURN_LONG = b"\xb8", b"\x14", b"\x61", b"\xad"


def skewed_by(milliseconds: int, folder: Path) -> Sequence[str]:
    """Return the options with which Java starts a broker whose clock is *milliseconds* ahead; *folder* is filled."""
    (jar,) = find_jars().glob("kafka-clients-*.jar")
    with zipfile.ZipFile(jar) as archive:
        original = archive.read(_CLASS)
    path = folder / _CLASS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_with_offset(original, milliseconds))
    return ["-cp", ":".join([str(folder), *(str(jar) for jar in sorted(find_jars().glob("*.jar")))])]


def _with_offset(original: bytes, milliseconds: int) -> bytes:
    """Let the first method that returns what a static one says, which is ``milliseconds``, add the offset."""
    (count,) = struct.unpack_from(">H", original, 8)
    end = _end_of_constants(original, count)
    methods = original[end:]
    # max_stack 2, max_locals 1, 4 bytes of code: invokestatic #n, lreturn.
    body = methods.index(struct.pack(">HHI", 2, 1, 4) + _INVOKE_STATIC)
    length_at = body - 4
    (length,) = struct.unpack_from(">I", methods, length_at)
    call, behind = methods[body + 8 : body + 11], methods[body + 12 :]
    assert methods[body + 11 : body + 12] == _RETURN_LONG, "another Kafka: SystemTime.milliseconds is not what it was"
    code = call + _LOAD_LONG + struct.pack(">H", count) + _ADD_LONGS + _RETURN_LONG
    method = struct.pack(">I", length + 4) + struct.pack(">HHI", 4, 1, len(code)) + code
    constant = bytes([_LONG]) + struct.pack(">q", milliseconds)
    head = original[:8] + struct.pack(">H", count + 2) + original[10:end]  # a long takes two places
    return head + constant + methods[:length_at] + method + behind


def _end_of_constants(content: bytes, count: int) -> int:
    at, number = 10, 1
    while number < count:
        tag = content[at]
        at += 3 + struct.unpack_from(">H", content, at + 1)[0] if tag == _UTF8 else 1 + _SIZES[tag]
        number += 2 if tag in (5, 6) else 1
    return at
