"""What one consumer knows of one partition: its list, if there is one, and how far it has read."""

from __future__ import annotations

import re
from typing import NamedTuple

from offset_sync_consumer.read_list import ReadList

FORGOTTEN_MS = 60_000
STALE_MS = 10_000
VOID = (1 << 63) - 1
_NONE = -1
_USE = re.compile(f"(?s)offset-sync/1 from=(0|[1-9][0-9]{{0,17}}|{VOID}) by .*")


class Commit(NamedTuple):
    """A committed offset and its metadata."""

    offset: int
    metadata: str


class Progress:
    """Decides which records of a partition are taken out.

    From where on a list is used: a group may be set back to read listed records again. So a list never takes out a
    record below the group's own commit at this consumer's first answer with the list. A list is void, which is the
    same from the largest offset on, in three cases:

    - The group has committed less than the list's start, or nothing.
    - The consumer reads below the list's start, or has done so since the broker's last answer.
    - The leader epoch of the records falls: this is another topic of the same name.

    The group remembers it. A commit of ``__offset-sync.used.GROUP`` has the list's start and
    ``offset-sync/1 from=OFFSET by CLIENT_ID``. It is acknowledged before a list is used for the first time, and again
    before records below ``from`` are judged. The partition's next consumer reads it together with the list. If it is
    there but cannot be read, the list is void.

    Errs to delivering: only an answer that is at most 10 s old is used. Without a list every record is delivered.
    """

    __slots__ = (
        "_asked_at", "_began", "_from", "_is_known", "_last", "_list_start", "_newest_epoch", "_seen_at", "_start",
        "read_list", "skipped",
    )  # fmt: skip

    def __init__(self) -> None:
        self.read_list: ReadList | None = None
        self.skipped = 0
        """Records of the newest list that were taken out."""
        self._is_known = False
        self._asked_at = self._seen_at = 0.0
        self._last = self._newest_epoch = _NONE
        self._began = VOID
        # Of the newest list, whether it is used or not.
        self._start, self._from = _NONE, 0
        # Of the newest list that was used.
        self._list_start = _NONE

    @property
    def list_start(self) -> str:
        """The start of the newest list that was used; a dash if there was none."""
        return "-" if self._list_start == _NONE else str(self._list_start)

    def is_due(self, first: int, now: float) -> bool:
        """True where the broker has to be asked before records from *first* on are judged."""
        return (
            not self._is_known
            or first <= self._last
            or now - self._seen_at > FORGOTTEN_MS
            or (self.read_list is not None and now - self._asked_at > STALE_MS)
        )

    def forget(self) -> None:
        """Forget the answer, until the next one."""
        self.read_list = None
        self._is_known = False

    def begin(self, first: int) -> None:
        """Forget the answer; the broker is asked for the next one before records from *first* on are judged.

        Until it answers they are delivered, and may be committed. So the answer counts from the first of them.
        """
        self.forget()
        self._began = min(self._began, first)

    def take(
        self,
        found: ReadList | None,
        own: int | None,
        used: Commit | None,
        first: int,
        now: float,
        client_id: str,
    ) -> Commit | None:
        """Take the answer; the next record is *first*. Return what to commit before records are judged, if anything."""
        self.read_list = None
        self._is_known = True
        self._asked_at = now
        self._newest_epoch = _NONE
        least, self._began = min(first, self._began), VOID
        if found is None:
            return None
        if found.start != self._start:
            self._start = found.start
            self._from = VOID if own is None else own
        is_set_back = own is None or min(own, least) < found.start
        remembered = self._remembered(used)
        self._from = VOID if is_set_back else max(self._from, remembered)
        if first >= found.end:
            return None
        if self._from < found.end:
            self.read_list = found
            self.skipped = self.skipped if found.start == self._list_start else 0
            self._list_start = found.start
        # What is read again, the consumers after this one have to deliver too.
        wanted = self._from if first < self._from else found.start
        if wanted <= remembered:
            return None
        return Commit(found.start, f"offset-sync/1 from={wanted} by {client_id}")

    def is_read(self, offset: int, epoch: int | None) -> bool:
        """True where the record was read elsewhere. A falling leader epoch makes the list void at once."""
        found = self.read_list
        if found is None or epoch is None:
            return False
        if epoch < self._newest_epoch:
            self._from = VOID
            self.forget()
            return False
        self._newest_epoch = epoch
        return epoch <= found.epoch and offset >= self._from and found.contains(offset)

    def has_passed(self, last: int, taken: int, now: float) -> bool:
        """Count records up to *last*, of which *taken* were taken out. True where the list ends here: it is dropped."""
        self._last = last
        self._seen_at = now
        self.skipped += taken
        is_passed = self.read_list is not None and last + 1 >= self.read_list.end
        if is_passed:
            self.read_list = None
        return is_passed

    def forget_unused(self, now: float) -> None:
        """Forget a list that was not used for long: the partition may be another member's now."""
        if self.read_list is not None and now - self._seen_at > FORGOTTEN_MS:
            self.forget()

    def _remembered(self, used: Commit | None) -> int:
        """Return from where on the group uses the newest list; -1 if nothing says so."""
        if used is None or used.offset != self._start:
            return _NONE
        use = _USE.fullmatch(used.metadata)
        return int(use[1]) if use else VOID
