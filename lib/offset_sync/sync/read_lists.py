"""Read lists: what a group has read above its answer, handed over beside it for consumers that skip it.

They are the metadata of commits of a group of our own at the target, ``__offset-sync.read.GROUP``, which never has
members. A list of a commit that stands is right for ever; what makes one wrong is that the group goes back. So a list
is written before the answer that it belongs to::

    list of the new answer ─▶ acknowledged ─▶ the answer, up or down
          │
          └─ not acknowledged: the answer has to wait where the list that stands has more than is read

Between the two a consumer finds a list that does not begin at its offset, and reads all. Errs to reading again: what
is not known to stand is asked for first, and where nobody can tell, none counts as standing that would be in the way.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OWN_GROUPS, OffsetWrite, Outcome, Rule, TopicPartition, WriteOutcome
from offset_sync.state.group_homes import UNCERTAIN_MS
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Pair, Translator
from offset_sync.sync.crossings import Crossing, Crossings
from offset_sync.sync.write_plan import Translated, WritePlan, refresh_due
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.read_list import FoundList, ReadList, decode_read_list, encode_read_list
from offset_sync.translate.replication_gap import OffsetRanges

logger = logging.getLogger(__name__)
_DEADLINE_S = 10.0
_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE"
_NONE = np.empty(0, np.int64)
_NOTHING_READ = FoundList(ReadList(0, 0, OffsetRanges(_NONE, _NONE)), _NONE, 0)
_NO_LIST = "its read list could not be replaced, which would be wrong for a lower offset"

Held: TypeAlias = "Mapping[str, Mapping[TopicPartition, Committed] | ClusterError]"
"""What each group has committed, or why nobody knows."""


class ListHolder(Protocol):
    """A cluster where lists stand, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def cluster_id(self, deadline: float) -> str:
        """Return Kafka's own id of the cluster; raises ClusterError where nobody says it."""

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Held:
        """Return what each group has committed; raises ClusterError where the cluster does not answer."""


class Standing(NamedTuple):
    """A list that stands at a cluster, None for none, and its *text*.

    *rewinds* are when the group went back last at each cluster, as it was known when the list was planned: one that is
    noted later may have been made before the list was written. None: the list is from before our time.
    """

    told: ReadList | None
    text: str
    rewinds: tuple[int, ...] | None

    @property
    def end(self) -> int:
        """The first offset above all that is listed; 0 where nothing is."""
        ranges = self.ranges
        return int(ranges.start[-1] + ranges.length[-1]) if len(ranges.start) else 0

    @property
    def ranges(self) -> OffsetRanges:
        """What is listed."""
        return self.told.ranges if self.told is not None else _NOTHING_READ.told.ranges


class ReadLists:
    """What stands at each of the clusters *holders*, for the groups that *config* names.

    Threads may share it: of a key at a cluster one direction at a time takes care, which holds the target's lock.
    """

    def __init__(self, config: Config, state: SyncState, holders: Mapping[str, ListHolder]) -> None:
        self._state, self._holders = state, holders
        self._is_named = cache(config.has_read_list)
        self._standing: dict[str, dict[int, Standing]] = {alias: {} for alias in holders}
        self._too_large: dict[str, set[int]] = {alias: set() for alias in holders}
        self._planned: dict[str, dict[int, tuple[int, ...]]] = {alias: {} for alias in holders}
        self._ids: dict[str, str] = {}

    def has_named(self, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which keys are of groups that get lists."""
        keys = self._state.offsets.keys
        return np.array([self._is_named(keys[row].group_id) for row in rows.tolist()], np.bool_)

    def crossings(self, translator: Translator, pair: Pair, key: KeyRows) -> Crossings:
        """Return what finds out what is to be listed; to be called before the translation is asked."""
        return Crossings(self._state, translator, pair, key[self.has_named(key)], self._is_named)

    def learn(self, aliases: Collection[str], rows: KeyRows) -> None:
        """Ask what stands at clusters of keys of which that is not known; to be called without locks."""
        keys = self._state.offsets.keys
        for alias in self._holders.keys() & aliases:
            unknown = [row for row in rows[self.has_named(rows)].tolist() if row not in self._standing[alias]]
            groups = {row: own_group(keys[row].group_id) for row in unknown}
            found = self._held(alias, [*dict.fromkeys(groups.values())]) if groups else {}
            for row, group in groups.items():
                answer = found.get(group)
                if answer is not None and not isinstance(answer, ClusterError):
                    held = answer.get(keys[row].topic_partition)
                    self._standing[alias].setdefault(row, self._seen(held.metadata if held else "", None))

    def _held(self, alias: str, groups: Sequence[str]) -> Held:
        holder = self._holders[alias]
        try:
            if alias not in self._ids:
                cluster_id = holder.cluster_id(_DEADLINE_S)
                encode_read_list(_NOTHING_READ, cluster_id)  # raises where no list can carry it
                self._ids[alias] = cluster_id
            return holder.committed_offsets(groups, _DEADLINE_S)
        except (ClusterError, ValueError) as problem:
            logger.warning("clusters.%s: which read lists stand there is not known: %s", alias, problem)
            return {}

    def writes(
        self, translated: Translated, crossings: Mapping[int, Crossing], refresh_before_ms: int
    ) -> dict[int, OffsetWrite]:
        """Return the lists that are to be written at the target, by row of *translated*; the state's lock is held.

        None while members of a group read at both clusters, and where its position is not its own last word: what we
        brought to its home may be above what is unread, at the log's start or past a hole, and it may have gone back
        elsewhere since. While they read at the target alone, what stands there stays: it is what they go by.
        """
        source, target, key = translated.source, translated.target, translated.commits.key
        here, there = (self._state.homes.with_members(alias) for alias in (source, target))
        is_due = refresh_due(self._state.offsets.clusters[target].columns, key, refresh_before_ms)
        mine = self._state.offsets.clusters[source].columns
        has_none = mine["actual_is_own"][key] | self._is_back_elsewhere(source, key)
        found = dict[int, OffsetWrite]()
        for row in np.flatnonzero(self.has_named(key)).tolist():
            one = int(key[row])
            group_id = self._state.offsets.keys[one].group_id
            if group_id in there and group_id not in here:
                continue
            text = "" if group_id in there or has_none[row] else self._text(translated, row, crossings.get(row))
            if (write := self._write(target, one, text, is_refreshed=bool(is_due[row]))) is not None:
                found[row] = write
            elif (standing := self._standing[target].get(one)) is not None:
                self._standing[target][one] = standing._replace(rewinds=self._rewinds(one))
        return found

    def _is_back_elsewhere(self, source: str, key: KeyRows) -> NDArray[np.bool_]:
        """Return which groups may have gone back at another cluster than *source* since their last word there.

        What they are to read again there is on the list of what they had read before. A group is at home with all
        partitions of a topic, so of one of them another cluster may have the newer word.
        """
        clusters = self._state.offsets.clusters
        said_ms, clock = clusters[source].columns["genuine_made_ms"][key], clusters[source].clock
        found = np.zeros(len(key), np.bool_)
        for alias, each in clusters.items():
            rewound_ms = each.columns["rewound_ms"][key]
            near_ms = max(UNCERTAIN_MS, clock.uncertain_ms + each.clock.uncertain_ms)
            found |= (rewound_ms != ABSENT) & (rewound_ms + near_ms >= said_ms) & (alias != source)
        return found

    def passed(self, alias: str, rows: KeyRows, offset: Sequence[int]) -> dict[int, OffsetWrite]:
        """Return, by key, what takes the lists away at the home of groups, *alias*, that are of no use there any more.

        The group has passed the end of what is listed, or has gone back since, at whatever cluster. *offset* is where
        it is.
        """
        found = dict[int, OffsetWrite]()
        for row, position in zip(rows.tolist(), offset, strict=True):
            standing = self._standing[alias].get(row)
            if standing is None or standing.told is None:
                continue
            known = standing.rewinds or (ABSENT,) * len(self._state.offsets.clusters)
            if position >= standing.end or self._rewinds(row) != known:
                write = self._write(alias, row, "", is_refreshed=False)
                found |= {row: write} if write is not None else {}
        return found

    def note(self, alias: str, writes: Mapping[int, OffsetWrite], done: Sequence[WriteOutcome]) -> None:
        """Take in what became of *writes*, by key; of what may have been written or not nobody knows what stands."""
        failed = dict[str, list[str]]()
        for (row, write), outcome in zip(writes.items(), done, strict=True):
            if outcome.outcome is Outcome.COMMITTED:
                self._standing[alias][row] = self._seen(write.metadata, self._planned[alias].pop(row))
            elif outcome.is_in_doubt:
                self._standing[alias].pop(row, None)
            if outcome.error:
                failed.setdefault(outcome.error, []).append(write.group_id)
            if (outcome.error or "").startswith(_TOO_LARGE):
                self._too_large[alias].add(row)
        for reason, groups in failed.items():
            logger.warning("clusters.%s: %d lists not written, first of %s: %s", alias, len(groups), groups[0], reason)

    def in_the_way(
        self,
        translated: Translated,
        plan: WritePlan,
        crossings: Mapping[int, Crossing],
        writes: Mapping[int, OffsetWrite],
        done: Sequence[WriteOutcome],
    ) -> dict[int, str]:
        """Return the rows of *translated* whose answer has to wait for a list that could not be written, and why.

        A list that stands and has more than what is read would be taken for right once the group is at the answer, or
        has come up to the list. Where it is not known what stands, no answer goes down. To be called before
        :meth:`note`: of a write that may have been applied or not, what stood before counts.
        """
        found, (key, answers) = dict[int, str](), (translated.commits.key, translated.answers)
        is_done = {row: each.outcome is Outcome.COMMITTED for row, each in zip(writes, done, strict=True)}
        for row in np.flatnonzero(self.has_named(key) & ~IS_WITHHELD[answers.state]).tolist():
            standing = self._standing[translated.target].get(int(key[row]))
            wanted = int(answers.wanted[row])
            if is_done.get(row):
                continue
            if standing is None:
                is_in_the_way = wanted < plan.previous[row]
            else:
                read = _ranges(writes.get(row), crossings.get(row))
                rest = standing.ranges.from_offset(wanted)
                is_in_the_way = int(read.count_between(rest.start, rest.start + rest.length).sum()) < rest.total
            if is_in_the_way:
                found[row] = _NO_LIST
        return found

    def _rewinds(self, row: int) -> tuple[int, ...]:
        """Return when the group of a key went back last at each cluster, ABSENT for never."""
        return tuple(int(each.columns["rewound_ms"][row]) for each in self._state.offsets.clusters.values())

    @staticmethod
    def _seen(text: str, rewinds: tuple[int, ...] | None) -> Standing:
        found = decode_read_list(text) if text else None
        is_list = found is not None and len(found.told.ranges.start) > 0
        return Standing(found.told, text, rewinds) if found is not None and is_list else Standing(None, "", rewinds)

    def _text(self, translated: Translated, row: int, crossing: Crossing | None) -> str:
        """Return the list of the answer in *row*, "" for none: it is withheld, or nothing is read above it."""
        target, answers = translated.target, translated.answers
        if crossing is None or IS_WITHHELD[answers.state[row]] or target not in self._ids:
            return ""
        told, is_too_large = crossing.told, int(translated.commits.key[row]) in self._too_large[target]
        if not len(told.records) or is_too_large:
            return ""
        return encode_read_list(told, self._ids[target]).text

    def _write(self, alias: str, row: int, text: str, *, is_refreshed: bool) -> OffsetWrite | None:
        """Return the write after which *text* stands, an empty list for ""; None where it stands, and is young."""
        key, standing = self._state.offsets.keys[row], self._standing[alias].get(row)
        if standing is not None:
            is_there = (standing.text == text) if text else standing.told is None
            if is_there and not (is_refreshed and text):
                return None
        if alias not in self._ids:  # nobody has said what stands there, nor what the cluster's id is
            return None
        self._planned[alias][row] = self._rewinds(row)
        text = text or encode_read_list(_NOTHING_READ, self._ids[alias]).text
        found = decode_read_list(text)
        start = found.told.start if found is not None else 0
        place = own_group(key.group_id), key.topic, key.partition
        return OffsetWrite(*place, start, None, Rule.SET, None, metadata=text)


def _ranges(write: OffsetWrite | None, crossing: Crossing | None) -> OffsetRanges:
    """Return what was to be listed: by the *write* that has failed, or without one what is read by the *crossing*."""
    if write is not None:
        found = decode_read_list(write.metadata)
        return found.told.ranges if found is not None else _NOTHING_READ.told.ranges
    return crossing.told.told.ranges if crossing is not None else _NOTHING_READ.told.ranges


def open_lists(config: Config, state: SyncState, holders: Mapping[str, ListHolder]) -> ReadLists | None:
    """Return the lists at the clusters *holders*; None where the configuration names no groups."""
    return ReadLists(config, state, holders) if config.sync.read_lists.groups else None


def own_group(group_id: str) -> str:
    """Return the group whose commits hold the lists of *group_id*."""
    return f"{OWN_GROUPS}read.{group_id}"
