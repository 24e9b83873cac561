"""Read lists: the records above an answer that a group has read, written beside the answer for consumers to skip.

They are the metadata of commits of a group of our own at the target, ``__offset-sync.read.GROUP``, which never has
members. A list stays correct until the group goes back. So a list is written before the answer that it belongs to::

    list of the new answer ─▶ acknowledged ─▶ the answer, up or down
          │
          └─ not acknowledged: the answer waits if the stored list has unread records

Between the two a consumer finds a list that does not begin at its offset, and reads everything. Each driver reads the
stored list once, again for a group that has gone back since, and before each write: another process may have written
it, and know of a rewind. While the stored list is unknown, a group that has ever gone back gets no answer. Errs to
waiting, and to reading again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Pair, Translator
from offset_sync.sync.crossings import Crossing, Crossings, are_named
from offset_sync.sync.held_lists import NOTHING_READ, HeldLists, ListHolder, Writes, listed, own_group, text_of_list
from offset_sync.sync.write_plan import Translated, WritePlan, refresh_due
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.read_list import ListText, ReadList, decode_read_list, encode_read_list
from offset_sync.translate.replication_gap import OffsetRanges

logger = logging.getLogger(__name__)
_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE"
_DONE = (Outcome.COMMITTED, Outcome.DRY_RUN)
NO_TEXT = ListText("", 0, 0)
"""No list."""
REPLACED = "another process has written its read list; the next pass retries"
GONE_BACK = "the group has gone back meanwhile; the next pass reads its read list again"
_NO_LIST = "its read list could not be replaced, and may have records unread at this offset"

Rewinds: TypeAlias = tuple[int, ...]
"""When a group last went back at each cluster, ABSENT for never."""


class StoredList(NamedTuple):
    """A list stored at a cluster, None for none, and its *text*.

    *rewinds* are when the group last went back at each cluster, as known when the list was planned: a rewind noted
    later may have been made before the list was written. None: a previous driver wrote the list. *seen* are the same
    when it was read or written: once the group has gone back since, or if None, the stored list is unknown.
    """

    read_list: ReadList | None = None
    text: str = ""
    rewinds: Rewinds | None = None
    seen: Rewinds | None = None

    @property
    def ranges(self) -> OffsetRanges:
        """The listed ranges."""
        return self.read_list.ranges if self.read_list is not None else NOTHING_READ.read_list.ranges


class ReadLists:
    """The lists stored at each of the clusters *holders*, for the groups that *config* names.

    Threads may share it: a key at a cluster is handled by one direction at a time, which holds the target's lock.
    """

    def __init__(self, config: Config, state: SyncState, holders: Mapping[str, ListHolder]) -> None:
        self._state = state
        self._held = {alias: HeldLists(alias, holder) for alias, holder in holders.items()}
        self._is_named = cache(config.has_read_list)
        self._stored: dict[str, dict[int, StoredList]] = {alias: {} for alias in holders}
        self._too_large: dict[str, dict[int, int]] = {alias: {} for alias in holders}  # characters, by key
        self._planned: dict[str, dict[int, Rewinds]] = {alias: {} for alias in holders}
        self._names_any = bool(config.sync.read_lists.groups)

    def has_named(self, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which keys are of named groups."""
        if not self._names_any:
            return np.zeros(len(rows), np.bool_)
        return are_named(self._state, rows, self._is_named)

    def crossings(self, translator: Translator, pair: Pair, key: KeyRows) -> Crossings:
        """Return the builder of the lists; to be called before the translation is asked."""
        return Crossings(self._state, translator, pair, key[self.has_named(key)], self._is_named)

    def learn(self, aliases: Collection[str], rows: KeyRows) -> None:
        """Read the unknown lists of keys at clusters; to be called without locks."""
        keys, named = self._state.offsets.keys, rows[self.has_named(rows)].tolist()
        for alias in self._held.keys() & aliases:
            seen = {row: self._rewinds(row) for row in named if self._known(alias, row) is None}
            before = {row: self._stored[alias].get(row) for row in seen}
            groups = {row: own_group(keys[row].group_id) for row in seen}
            found = self._held[alias].ask([*dict.fromkeys(groups.values())]) if groups else {}
            for row, group in groups.items():
                answer = found.get(group)
                if self._stored[alias].get(row) is not before[row]:
                    continue  # written in the meantime
                if answer is None or isinstance(answer, ClusterError):
                    self._stored[alias][row] = StoredList()
                    continue
                held = answer.get(keys[row].topic_partition)
                self._stored[alias][row] = _stored_list(held.metadata if held else "", None, seen[row])

    def _known(self, alias: str, row: int) -> StoredList | None:
        """Return the list stored at a cluster, None if it is unknown or outdated."""
        stored = self._stored[alias].get(row)
        return stored if stored is not None and stored.seen == self._rewinds(row) else None

    def take_others_away(self, alias: str, writer: Writes) -> None:
        """Remove, once, the lists at a cluster of groups no longer named; see :class:`HeldLists`."""
        if alias in self._held:
            self._held[alias].take_others_away(self._is_named, writer)

    def writes(
        self, translated: Translated, texts: Mapping[int, ListText], refresh_before_ms: int
    ) -> dict[int, OffsetWrite]:
        """Return which of the lists *texts* are to be written at the target, by row; the state's lock is held.

        The list is empty while a group has members at both clusters. While it has members at the target alone, the
        stored list is kept, as they use it. It is also kept if a command has decided the group's home: the group was
        moved already, or read at two clusters.
        """
        source, target, key = translated.source, translated.target, translated.commits.key
        here, there = (self._state.homes.with_members(alias) for alias in (source, target))
        is_due = refresh_due(self._state.offsets.clusters[target].columns, key, refresh_before_ms)
        found, is_decided = dict[int, OffsetWrite](), self._state.homes.is_decided(key)
        for row, wanted in texts.items():
            one = int(key[row])
            group_id = self._state.offsets.keys[one].group_id
            if is_decided[row] or (group_id in there and group_id not in here):
                continue
            text = "" if group_id in there else wanted.text
            if (write := self._write(target, one, text, is_refreshed=bool(is_due[row]))) is not None:
                found[row] = write
            elif (stored := self._known(target, one)) is not None:
                self._stored[target][one] = stored._replace(rewinds=stored.seen)
        return found

    def texts(self, translated: Translated, crossings: Mapping[int, Crossing]) -> dict[int, ListText]:
        """Return the lists of the answers, by row of *translated*, of named groups; the lock is held.

        :data:`NO_TEXT` where nothing is read above an answer, where the answer is withheld, and where a group's
        position is not its own newest commit, see :meth:`SyncState.has_own`.
        """
        key = translated.commits.key
        has_list = self._state.has_own(translated.source, key) & ~IS_WITHHELD[translated.answers.state]
        return {
            row: self._text(translated.target, int(key[row]), crossings.get(row)) if has_list[row] else NO_TEXT
            for row in np.flatnonzero(self.has_named(key)).tolist()
        }

    def believed(self, alias: str, writes: Mapping[int, OffsetWrite]) -> tuple[set[int], set[int]]:
        """Return the keys of *writes* whose stored list is the expected one, and those where another process wrote it.

        To be called before each write, as for offsets: that process may know of a rewind. Keys without an answer are in
        neither; the next pass reads the list again.
        """
        found = self._held[alias].ask([*dict.fromkeys(each.group_id for each in writes.values())]) if writes else {}
        same, replaced, failed = set[int](), set[int](), dict[str, list[str]]()
        for key, write in writes.items():
            answer, known = found.get(write.group_id), self._known(alias, key)
            if isinstance(answer, ClusterError):
                failed.setdefault(str(answer), []).append(write.group_id)
            if known is None or answer is None or isinstance(answer, ClusterError):
                continue
            held = answer.get(TopicPartition(write.topic, write.partition))
            if text_of_list(held.metadata if held else "") == known.text:
                same.add(key)
            else:
                replaced.add(key)
                self._stored[alias][key] = StoredList()
        _tell_failed(alias, failed)
        return same, replaced

    def passed(self, alias: str, rows: KeyRows, offset: Sequence[int]) -> dict[int, OffsetWrite]:
        """Return, by key, the writes that remove obsolete lists at the groups' home *alias*.

        A list is obsolete once the group has passed its end, or has gone back since at any cluster. *offset* is the
        group's position.
        """
        found = dict[int, OffsetWrite]()
        for row, position in zip(rows.tolist(), offset, strict=True):
            stored = self._known(alias, row)
            if stored is None or stored.read_list is None:
                continue
            known = stored.rewinds or (ABSENT,) * len(self._state.offsets.clusters)
            moved_ms = int(self._state.homes.moved_ms(np.array([row]), alias)[0])
            is_back = any(
                at_ms > max(before, moved_ms) for at_ms, before in zip(self._rewinds(row), known, strict=True)
            )
            if position >= stored.read_list.end or is_back:
                write = self._write(alias, row, "", is_refreshed=False)
                found |= {row: write} if write is not None else {}
        return found

    def note(self, alias: str, writes: Mapping[int, OffsetWrite], done: Sequence[WriteOutcome]) -> None:
        """Record the outcomes of *writes*, by key; after a write in doubt the stored list is unknown."""
        failed = dict[str, list[str]]()
        for (row, write), outcome in zip(writes.items(), done, strict=True):
            if outcome.outcome is Outcome.COMMITTED:
                planned = self._planned[alias].pop(row)
                self._stored[alias][row] = _stored_list(write.metadata, planned, planned)
            elif outcome.is_in_doubt:
                self._stored[alias][row] = StoredList()
            if outcome.error:
                failed.setdefault(outcome.error, []).append(write.group_id)
            if (outcome.error or "").startswith(_TOO_LARGE):
                self._too_large[alias][row] = len(write.metadata)
        _tell_failed(alias, failed)

    def in_the_way(
        self,
        translated: Translated,
        plan: WritePlan,
        crossings: Mapping[int, Crossing],
        writes: Mapping[int, OffsetWrite],
        done: Sequence[WriteOutcome],
    ) -> dict[int, str]:
        """Return the rows of *translated* whose answer has to wait for a list that could not be written, and why.

        A stored list with unread records would be used once the group is at the answer, or reaches the list.
        While the stored list is unknown, no answer goes down, and a group that has ever gone back gets none. To be
        called before :meth:`note`: for a write in doubt, the list before it counts.
        """
        found, (key, answers) = dict[int, str](), (translated.commits.key, translated.answers)
        is_done = {row: each.outcome in _DONE for row, each in zip(writes, done, strict=True)}
        for row in np.flatnonzero(self.has_named(key) & ~IS_WITHHELD[answers.state]).tolist():
            if is_done.get(row):
                continue
            one, wanted = int(key[row]), int(answers.wanted[row])
            stored = self._known(translated.target, one)
            if stored is None:
                is_in_the_way = wanted < plan.previous[row] or max(self._rewinds(one)) != ABSENT
            else:
                read = _ranges(writes.get(row), crossings.get(row))
                rest = stored.ranges.from_offset(wanted)
                is_in_the_way = int(read.count_between(rest.start, rest.start + rest.length).sum()) < rest.total
            if is_in_the_way:
                was = self._stored[translated.target].get(one, StoredList())
                found[row] = GONE_BACK if stored is None and was.seen is not None else _NO_LIST
        return found

    def _rewinds(self, row: int) -> Rewinds:
        return tuple(int(each.columns["rewound_ms"][row]) for each in self._state.offsets.clusters.values())

    def _text(self, alias: str, key: int, crossing: Crossing | None) -> ListText:
        cluster_id = self._held[alias].cluster_id
        if crossing is None or cluster_id is None or not len(crossing.found.records):
            return NO_TEXT
        found, refused = encode_read_list(crossing.found, cluster_id), self._too_large[alias].get(key)
        return found if refused is None or len(found.text) < refused else NO_TEXT

    def _write(self, alias: str, row: int, text: str, *, is_refreshed: bool) -> OffsetWrite | None:
        """Return the write that stores *text*, an empty list for ""; None if it is stored and not due for a refresh."""
        key, stored = self._state.offsets.keys[row], self._known(alias, row)
        if stored is not None:
            is_there = (stored.text == text) if text else stored.read_list is None
            if is_there and not (is_refreshed and text):
                return None
        if self._held[alias].cluster_id is None:  # the stored list is unknown
            return None
        self._planned[alias][row] = self._rewinds(row)
        return self._held[alias].write_of(own_group(key.group_id), key.topic_partition, text)


def _tell_failed(alias: str, failed: Mapping[str, Sequence[str]]) -> None:
    for reason, groups in failed.items():
        logger.warning("clusters.%s: %d read lists not written, first %s: %s", alias, len(groups), groups[0], reason)


def _stored_list(text: str, rewinds: Rewinds | None, seen: Rewinds) -> StoredList:
    return StoredList(listed(text), text_of_list(text), rewinds, seen)


def _ranges(write: OffsetWrite | None, crossing: Crossing | None) -> OffsetRanges:
    """Return the ranges to be listed: those of the failed *write*, or without one those of the *crossing*."""
    if write is not None:
        found = decode_read_list(write.metadata)
        return found.read_list.ranges if found is not None else NOTHING_READ.read_list.ranges
    return crossing.found.read_list.ranges if crossing is not None else NOTHING_READ.read_list.ranges
