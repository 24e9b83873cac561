"""The mirror's third header, which says of which topic and partition a record is a copy: ``orders-3``.

Applications that hand the headers of what they read on to what they write (Kafka Streams, Camel, Spring Cloud Stream
do) make records that name an origin and an offset of another topic. Taken for copies they would make that topic's
unread records pass for read ones. A record that names another place was produced where it stands.
An application that writes into the very topic it reads hands on the right place too; for that the mirror may add the
time of the original, ``orders-3@1700000000000``, which has to be the record's own. That needs topics that keep the time
of the copies (CreateTime), and helps only against applications that give what they write a time of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.decode.mirror_headers import NOT_MIRRORED, Flags, Identities

NO_PLACE = "no place header, or none that fits: a mirror that stamps it otherwise, or handed on by an application"
_FORM = "^.+-[0-9]+(@-?[0-9]+)?$"


class Places(NamedTuple):
    """What the headers of records say, shape (records,): the record's own place, another one, or nothing certain."""

    is_here: Flags
    is_elsewhere: Flags


def read_places(header: pa.Array, topic: str, partition: int, timestamp_ms: NDArray[np.int64]) -> Places:
    """Compare raw header values of the records of one partition with where these stand."""
    own = f"{topic}-{partition}".encode()
    is_here = pc.equal(header, pa.scalar(own, header.type))
    is_own = pc.or_(is_here, pc.starts_with(header, own + b"@"))
    is_elsewhere = pc.and_(pc.match_substring_regex(header, _FORM), pc.invert(is_own))
    if pc.any(is_own).as_py():
        times = pc.cast(pc.cast(pa.array(timestamp_ms), pa.string()), header.type)
        timed = pc.binary_join_element_wise(pa.scalar(own, header.type), times, pa.scalar(b"@", header.type))
        is_here = pc.or_(is_here, pc.equal(header, timed))
    return Places(_flags(is_here), _flags(is_elsewhere))


def confirmed(found: Identities, places: Places) -> Identities:
    """Return the identities that are left: of records that name their own place.

    What names another one is native, whatever else it says. Of what names none, or its own with another time, nobody
    can tell, so it is malformed: unread by everyone.
    """
    is_mirrored = found.is_mirrored & places.is_here
    is_unplaced = found.is_mirrored & ~places.is_here & ~places.is_elsewhere
    is_malformed = (found.is_malformed & ~places.is_elsewhere) | is_unplaced
    reasons = {row: why for row, why in found.reasons.items() if is_malformed[row]}
    reasons |= dict.fromkeys(np.flatnonzero(is_unplaced).tolist(), NO_PLACE)
    return replace(
        found,
        is_mirrored=is_mirrored,
        is_malformed=is_malformed,
        origin_code=np.where(is_mirrored, found.origin_code, np.int32(NOT_MIRRORED)),
        origin_offset=np.where(is_mirrored, found.origin_offset, 0),
        reasons=reasons,
    )


def _flags(column: pa.Array) -> Flags:
    found: Flags = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found
