"""What is put into the alignment of a partition and what comes out: fingerprints in, identities out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offset_sync.translate.index.runs import Int64s


@dataclass(frozen=True)
class Settings:
    """What is known of the mirror, and how far back it may go.

    *keeps_timestamps*: fingerprints are of contents and time. *keeps_order*: False where the mirror may put records
    into any order for good (``mirror.order: any``). Without timestamps a copy stands at most *slack* offsets from where
    the order would have it. *reorder_window* (offsets): for so long an order that was broken is looked back at. The
    mirror goes back at most *resend_records* (offsets) below the newest original that it has copied, and at most to
    where it had come *resend_ms* ago. What nothing unique follows is decided after *hold_ms*. Where the originals are
    not known from their log's first record on, *entry* copies in a row that each have one original, in ascending order,
    tell where the mirror is.
    """

    keeps_timestamps: bool = True
    keeps_order: bool = True
    slack: int = 1_000
    reorder_window: int = 200
    hold_ms: int = 10_000
    resend_records: int = 1_000_000
    resend_ms: int = 3_600_000
    entry: int = 100


@dataclass(frozen=True)
class Fingerprints:
    """Records of one log by ascending *offset*; both int64, shape (records,). An offset that lacks has no record."""

    offset: Int64s
    fingerprint: Int64s

    @classmethod
    def of(cls, offset: ArrayLike, fingerprint: ArrayLike) -> Fingerprints:
        """Build them from anything array-like."""
        return cls(np.asarray(offset, np.int64), np.asarray(fingerprint, np.int64))

    def __len__(self) -> int:
        return len(self.offset)


class Kind(IntEnum):
    """What is known of a copy."""

    EXACT = 0
    """Its original."""
    BOUNDED = 1
    """Between which two offsets its original lies."""
    ALIEN = 2
    """That it has none: it was altered, or produced here. Unread by everyone."""


@dataclass(frozen=True)
class Places:
    """Originals of which a copy may stand as late as at *offset*: not before that; shapes (places,), by *original*."""

    original: Int64s
    offset: Int64s

    @classmethod
    def none(cls) -> Places:
        """Return no places."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.original)


@dataclass(frozen=True)
class Identities:
    """Copies by ascending *offset*: ``low <= original <= high``; shapes (copies,). Of an alien both mean nothing.

    *places* are those of all originals that some BOUNDED one may be of, less those of which a copy is known here.
    """

    offset: Int64s
    kind: NDArray[np.int8]
    low: Int64s
    high: Int64s
    places: Places

    def __len__(self) -> int:
        return len(self.offset)
