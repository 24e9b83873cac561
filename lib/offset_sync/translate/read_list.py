"""The read list: which records of the target, at or above the offset where a group starts, it has read at the source.

A consumer that starts at t(c) with this list can skip what the group has read and miss nothing that it has not::

    source X   offset     0   1   2   3   4   5        commit c = 4: x0 y0 x2 z7 are read
                          x0  y0  x2  z7  y2  x5
    target Y   offset     0   1   2   3   4   5   6    t(c) = 1: y1 was never mirrored to X, a hole
                          y0  y1  x0  x2  y2  z7  x5
    read                      no  yes yes no  yes no   the list, from 1 on: [2, 4) and [5, 6)

A record is on the list only if the source's index has its identity below c, or the source itself produced it at an
offset below c. Holes are not on it: for t(c) they count as read, but no group has read them. Neither is any record
whose place at the source is unknown: beyond either index, malformed, of another incarnation of its origin, or
truncated. Errs to fewer records: one that is missing on the list is read twice, one too many is lost.

A list is handed over as text. A text that is not exactly as :func:`encode_read_list` writes it is no list.
"""

from __future__ import annotations

import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, members
from offset_sync.translate.partition_log import PartitionLog, reason_to_withhold
from offset_sync.translate.pieces import Pieces, ReadHeights, cut_pieces, origins_in, read_for_sure
from offset_sync.translate.read_window import TargetView
from offset_sync.translate.replication_gap import NEVER_YOUNG, OffsetRanges, joined, replication_gaps

MOST_CHARACTERS = 4096
"""The limit of a text, its NUL included: a broker's ``offset.metadata.max.bytes``, which counts UTF-16 characters."""
MOST_BYTES = 65_536
"""The limit of a text's numbers, so that a hostile one cannot make its reader inflate more."""
MOST_RANGES = MOST_BYTES // 2
"""A range takes two numbers, so no text holds more."""
_HOLES_ARE_UNREAD = -NO_LIMIT
"""As *young_since_ms*: every hole is younger, so it has no place at the source. Then all that has one is linear."""
_LARGEST, _LARGEST_EPOCH = int(np.iinfo(np.int64).max), int(np.iinfo(np.int32).max)
_CLUSTER_ID = re.compile("[!-~]{1,200}")
MARK = "offset-sync/1 "
"""How texts of read lists begin, and the marks of consumers that use them."""
_TEXT = re.compile(
    f"{MARK}({_CLUSTER_ID.pattern}) (0|[1-9][0-9]{{0,18}}) (0|[1-9][0-9]{{0,9}}) ([rz])([A-Za-z0-9_-]*)"
    "(?: late=[!-~]+)*"
)


class ReadList(NamedTuple):
    """The *ranges* of a target's offsets, at or above *start*, that a group has read.

    Between two ranges there is an unread record; within one there may be offsets without a record. A record at one of
    these offsets with a leader epoch above *leader_epoch* is another one, which the group may not have read (KIP-101).
    After an unclean election another one may have a lower epoch too, so a truncation of the log makes its lists void.
    """

    start: int
    leader_epoch: int
    ranges: OffsetRanges

    @property
    def end(self) -> int:
        """The first offset above all that is listed, *start* where nothing is."""
        ranges = self.ranges
        return int(ranges.start[-1] + ranges.length[-1]) if len(ranges.start) else self.start


class FoundList(NamedTuple):
    """A computed list: the *records* of each of its ranges, shape (ranges,), and how many were *left_out*.

    Those are in ranges above the last one of the list.
    """

    read_list: ReadList
    records: Int64s
    left_out: int


class DecodedList(NamedTuple):
    """A decoded text: the id of the cluster whose offsets these are, and the list."""

    cluster_id: str
    read_list: ReadList


class ListText(NamedTuple):
    """A list as *text*: how many read *records* it covers, and how many are *left_out*, which are read twice."""

    text: str
    records: int
    left_out: int


def read_list(
    committed: int,
    start: int,
    source: PartitionLog,
    target: PartitionLog,
    *,
    leader_epoch: int,
) -> FoundList:
    """Return what a group has read of *target* at or above *start*, having *committed* this offset at *source*.

    *leader_epoch* is an epoch of the target's leader under which all indexed records were verified: queried before they
    were read, or confirmed since. If it is negative the list is empty. So it is if either log is withheld, if the
    target was truncated, and for a commit beyond the source's log end.

    The caller requests no list for commits that are withheld for reasons not checked here: one that names another
    incarnation of the topic (TOPIC_RECREATED), was made before its log was truncated or recreated
    (``of_former_incarnations``), or covers records lost in an election (``of_lost_records``). Such a list errs the
    wrong way: it would hold unread records. Both indexes must be of the present incarnations; copies of former ones
    have origin codes of their own.

    Pages of the target's index are read one after the other, unless the directory shows that nothing of them is read.
    Records that retention has removed from either index are not on the list.
    """
    is_listed = leader_epoch >= 0 and target.metadata.cut_at is None
    found = _Ranges()
    if is_listed and committed <= source.metadata.log_end and reason_to_withhold(source, target) is None:
        _go_through(found, committed, start, source, target)
    else:
        leader_epoch = 0
    ranges = OffsetRanges(found.start, found.end - found.start)
    return FoundList(ReadList(start, leader_epoch, ranges), found.records, found.left_out)


def _go_through(found: _Ranges, committed: int, start: int, source: PartitionLog, target: PartitionLog) -> None:
    view = TargetView.of(target.index, start)
    if len(view.stretches) == 0:
        found.add(cut_pieces(view.tail, source, _HOLES_ARE_UNREAD), committed)
        return
    commits, one, stretches = np.array([committed], np.int64), np.ones(1, np.bool_), view.stretches
    heights = ReadHeights(commits, source, NEVER_YOUNG, origins_in(stretches))
    _, nothing = read_for_sure(stretches, heights, one)
    if not nothing.all():
        heights.look_into(one)
        _, nothing = read_for_sure(stretches, heights, one)
    for number, is_unread in enumerate(nothing[:, 0].tolist()):
        if is_unread:
            found.is_open = False
        else:
            found.add(cut_pieces(view.runs(number).from_offset(start), source, _HOLES_ARE_UNREAD), committed)


class _Ranges:
    """Ranges ``[start, end)`` of read *records*, part by part of a log; shapes (ranges,), at most :data:`MOST_RANGES`.

    *is_open*: the last record so far is read. *left_out* counts the records of further ranges.
    """

    def __init__(self) -> None:
        self.start, self.end, self.records = np.empty((3, 0), np.int64)
        self.left_out, self.is_open = 0, False

    def add(self, pieces: Pieces, committed: int) -> None:
        """Add what a group has read of *pieces*, which are above all before and cut with all holes unread."""
        read = np.clip(committed - pieces.needs, 0, pieces.length)
        goes_on = np.append(self.is_open, read == pieces.length)
        self.is_open, rows = bool(goes_on[-1]), read.nonzero()[0]
        if len(rows) == 0 or self.left_out:
            self.left_out += int(read.sum())
            return
        first = np.append(np.ones(len(self.start), np.bool_), ~goes_on[rows]).nonzero()[0]
        start, end = np.append(self.start, pieces.start[rows]), np.append(self.end, (pieces.start + read)[rows])
        records = np.add.reduceat(np.append(self.records, read[rows]), first)
        self.start, self.end = start[first][:MOST_RANGES], end[np.append(first[1:] - 1, -1)][:MOST_RANGES]
        self.records, self.left_out = records[:MOST_RANGES], int(records[MOST_RANGES:].sum())


def count_listed(read: OffsetRanges, span: tuple[int, int], source: PartitionLog, target: PartitionLog) -> int:
    """Return how many records of the target's *span*, ``[low, high)``, the source has within *read*.

    Errs to fewer: holes do not count.
    """
    count, (low, high) = 0, span
    for runs in target.index.paged.parts(low, high):
        pieces = cut_pieces(runs, source, _HOLES_ARE_UNREAD).below(high)
        count += int(read.count_between(pieces.needs, pieces.needs + pieces.length).sum())
    return count


def pending(committed: int, source: PartitionLog, target: PartitionLog, young_since_ms: int) -> dict[int, OffsetRanges]:
    """Return where *source* has records below *committed* that *target*'s index still awaits, by origin's code.

    If there are none every list of the commit is complete. Records that the mirror has passed since *young_since_ms*
    (since the epoch) may still come; those passed before are not awaited, nor those that the target itself has deleted.
    Offsets that the source's index has not read yet count as records of UNKNOWN_ORIGIN. Reads only pages that may
    contribute, window by window of an origin's offsets. For logs of which nothing is withheld, as in :func:`read_list`.
    Errs to too many, so to waiting.
    """
    frontier = source.index.frontier
    beyond = OffsetRanges(np.array([frontier]), np.array([committed - frontier]))
    found = {UNKNOWN_ORIGIN: beyond} if committed > frontier else {}
    here, there = source.index.stretches(), target.index.stretches()
    is_young = there.seen_ms > young_since_ms
    first_young = int(is_young.argmax()) if is_young.any() else len(there)
    for origin in sorted(code for code in source.index.origins if code > UNKNOWN_ORIGIN):
        # The mirror has passed all below a record of an old page; the target's own records are complete.
        low = int(there.span(origin).high[:first_young].max(initial=-1)) + 1
        low = target.index.frontier if origin == target.origin else low
        high = int(here.span(origin).high[here.first_record < committed].max(initial=-1)) + 1
        gaps = replication_gaps(origin, source.index, target.index, young_since_ms, low, high)
        if len(left := joined([gap.pending.below(committed) for gap in gaps])):
            found[origin] = left
    return found


def encode_read_list(found: FoundList, cluster_id: str) -> ListText:
    """Return the text of a list: ``offset-sync/1 CLUSTER START EPOCH BODY`` and a NUL, which ends a C string.

    CLUSTER is the target's *cluster_id*, 1 to 200 visible ASCII characters: a consumer that reads from another cluster
    ignores the list. BODY is ``r``, or ``z`` and then raw DEFLATE where that is shorter, and base64url without padding
    of numbers in unsigned LEB128: by turns the distance to the next range and its length, from START on; ``r`` alone
    where nothing is read. What does not fit into :data:`MOST_CHARACTERS` is left out from the end. Raises ValueError
    for another *cluster_id*.
    """
    start, leader_epoch, ranges = found.read_list
    end = ranges.start + ranges.length
    numbers = np.stack((ranges.start - np.concatenate(([start], end[:-1])), ranges.length), axis=1).ravel()
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise ValueError(f"not a cluster id that a read list can carry: {cluster_id!r}")
    content, size = _to_leb128(numbers)
    ends = np.concatenate(([0], size.cumsum()[1::2]))
    head = f"{MARK}{cluster_id} {start} {leader_epoch} "
    room = (MOST_CHARACTERS - len(head) - len("r\0")) * 3 // 4
    raw, most = (int(ends.searchsorted(limit, "right")) - 1 for limit in (room, MOST_BYTES))
    kept = raw + bisect_right(range(raw + 1, most + 1), room, key=lambda k: len(_deflate(content[: ends[k]])))
    body = content[: ends[kept]]
    deflated = _deflate(body)
    kind, body = ("z", deflated) if len(deflated) < len(body) else ("r", body)
    left_out = int(found.records[kept:].sum()) + found.left_out
    return ListText(f"{head}{kind}{_to_base64(body)}\0", int(found.records[:kept].sum()), left_out)


def decode_read_list(text: str) -> DecodedList | None:
    """Return the cluster and the list of a *text*, with its NUL or without; None for anything else.

    Words that begin with ``late=`` may follow, and change nothing. At most :data:`MOST_BYTES` of numbers are inflated,
    and no offset is beyond int64. Errs to None: without a list all is read.
    """
    parsed = _TEXT.fullmatch(text.removesuffix("\0")) if len(text) <= MOST_CHARACTERS else None
    content = _inflated(parsed[4], parsed[5]) if parsed else None
    numbers = _from_leb128(content) if content is not None else None
    if parsed is None or numbers is None or not _is_list(start := int(parsed[2]), epoch := int(parsed[3]), numbers):
        return None
    ends = start + numbers.cumsum()
    return DecodedList(parsed[1], ReadList(start, epoch, OffsetRanges(ends[::2], numbers[1::2])))


def _is_list(start: int, leader_epoch: int, numbers: Int64s) -> bool:
    """Return whether *numbers* make ranges that are apart, and all offsets are within int64."""
    if len(numbers) % 2 or (numbers < 0).any() or not (numbers[1:] > 0).all():
        return False
    return start >= 0 and 0 <= leader_epoch <= _LARGEST_EPOCH and start + sum(numbers.tolist()) <= _LARGEST


def _deflate(content: bytes) -> bytes:
    return zlib.compress(content, level=9, wbits=-zlib.MAX_WBITS)


def _inflated(kind: str, body: str) -> bytes | None:
    """Return the bytes of the numbers, None where they are not written as :func:`encode_read_list` does."""
    try:
        content = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except Error:
        return None
    if _to_base64(content) != body:  # unused bits are set
        return None
    if kind == "r":
        return content
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = inflater.decompress(content, MOST_BYTES + 1)
    except zlib.error:
        return None
    is_whole = inflater.eof and not inflater.unused_data
    return found if is_whole and len(found) <= MOST_BYTES else None


def _to_base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _to_leb128(numbers: Int64s) -> tuple[bytes, Int64s]:
    """Return all *numbers*, none negative, and how many bytes each of them takes."""
    size = np.searchsorted(1 << np.arange(7, 63, 7), numbers, "right") + 1
    row, at = members(np.zeros_like(size), size)
    digits = (numbers[row] >> (7 * at)) & 127 | ((at < size[row] - 1) << 7)
    return digits.astype(np.uint8).tobytes(), size


def _from_leb128(content: bytes) -> Int64s | None:
    """Return the numbers, each in as few bytes as it takes; None where one is not, or is beyond int64."""
    digits = np.frombuffer(content, np.uint8).astype(np.int64)
    last = (digits < 128).nonzero()[0]
    if len(digits) == 0:
        return digits
    if len(last) == 0 or last[-1] != len(digits) - 1:
        return None
    first = np.concatenate(([0], last[:-1] + 1))
    size = last - first + 1
    if (size > 9).any() or ((size > 1) & (digits[last] == 0)).any():
        return None
    _, at = members(np.zeros_like(size), size)
    found: Int64s = np.add.reduceat((digits & 127) << (7 * at), first)
    return found
