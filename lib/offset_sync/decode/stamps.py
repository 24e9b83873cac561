"""All that a mirror stamps on its copies to identities: origin and offset, the place, and the origins that can be."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.mirror_headers import Encoding, Identities, decode_identities
from offset_sync.decode.place_header import Places, confirmed, read_places

ORIGIN_HEADER, OFFSET_HEADER, PLACE_HEADER = "origin_header", "offset_header", "place_header"
"""Columns of raw header values: the first two always, the third one where the mirror stamps the place."""
HEADER_COLUMNS = (ORIGIN_HEADER, OFFSET_HEADER, PLACE_HEADER)


def decode_stamps(
    headers: Mapping[str, pa.Array],
    encoding: Encoding,
    where: tuple[str, int],
    timestamp_ms: NDArray[np.int64],
    known: Collection[str] | None = None,
) -> Identities:
    """Return the identities of the records of one partition; *headers* are columns of :data:`HEADER_COLUMNS`.

    *where* is their topic and partition, *timestamp_ms* their times, shape (records,).

    *known* are the only origins that a copy can have there; None: any. What bears another one is malformed, for its
    offset may be of another cluster. Errs to malformed: such a record is unread by everyone.
    """
    found = decode_identities(headers[ORIGIN_HEADER], headers[OFFSET_HEADER], encoding)
    if (places := places_of(headers, where, timestamp_ms)) is not None:
        found = confirmed(found, places)
    return found if known is None else _of_known(found, known)


def places_of(
    headers: Mapping[str, pa.Array], where: tuple[str, int], timestamp_ms: NDArray[np.int64]
) -> Places | None:
    """Return what the records say of their places, None where the mirror stamps none."""
    return read_places(headers[PLACE_HEADER], *where, timestamp_ms) if PLACE_HEADER in headers else None


def _of_known(found: Identities, known: Collection[str]) -> Identities:
    is_unknown = np.array([*(origin not in known for origin in found.origins), False])[found.origin_code]
    if not is_unknown.any():
        return found
    reasons = {
        row: f"origin header {found.origins[found.origin_code[row]]!a} is of no cluster that is mirrored to this one"
        for row in np.flatnonzero(is_unknown).tolist()
    }
    return found.without(is_unknown, reasons)
