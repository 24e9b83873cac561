"""Identities in a log whose records are all of one origin, as those of a topic are that is named for its cluster.

At home nothing comes in from elsewhere: whatever headers a record has there, an application has handed them on, and it
was produced where it stands. In a copy a record that names another origin is no record that anybody could place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offset_sync.decode.mirror_headers import NOT_MIRRORED, Flags, Identities

OTHER_ORIGIN = "another origin than the topic is named for"


def all_native(found: Identities) -> Identities:
    """Return the identities of records at home: every one is native."""
    no = np.zeros(len(found.is_mirrored), np.bool_)
    codes = np.full(len(no), NOT_MIRRORED, np.int32)
    return replace(
        found, is_mirrored=no, is_malformed=no, origin_code=codes, origin_offset=found.origin_offset * 0, reasons={}
    )


def of_one_origin(found: Identities, is_of_home: Flags) -> Identities:
    """Return the identities that are left in a copy; *is_of_home* says which records name its home, shape (records,).

    Errs to malformed, which is unread by everyone.
    """
    is_other = found.is_mirrored & ~is_of_home
    if not is_other.any():
        return found
    return replace(
        found,
        is_mirrored=found.is_mirrored & ~is_other,
        is_malformed=found.is_malformed | is_other,
        origin_code=np.where(is_other, np.int32(NOT_MIRRORED), found.origin_code),
        origin_offset=np.where(is_other, 0, found.origin_offset),
        reasons=found.reasons | dict.fromkeys(np.flatnonzero(is_other).tolist(), OTHER_ORIGIN),
    )
