"""Read lists stored at clusters: read, and removed for groups that are no longer configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OWN_GROUPS, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.translate.read_list import FoundList, ReadList, decode_read_list, encode_read_list
from offset_sync.translate.replication_gap import OffsetRanges

logger = logging.getLogger(__name__)
_DEADLINE_S = 10.0
_PREFIX = f"{OWN_GROUPS}read."
_NONE = np.empty(0, np.int64)
NOTHING_READ = FoundList(ReadList(0, 0, OffsetRanges(_NONE, _NONE)), _NONE, 0)

Held: TypeAlias = "Mapping[str, Mapping[TopicPartition, Committed] | ClusterError]"
"""What each group has committed, or why it is unknown."""
Writes: TypeAlias = "Callable[[Sequence[OffsetWrite]], Sequence[WriteOutcome]]"
"""Commits, and returns one outcome for each, in order."""


class ListHolder(Protocol):
    """A cluster that stores lists, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def cluster_id(self, deadline: float) -> str:
        """Return Kafka's own id of the cluster; raises ClusterError where no broker returns it."""

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Held:
        """Return what each group has committed; raises ClusterError where the cluster does not answer."""

    def groups(self, deadline: float) -> Iterable[str]:
        """Return its groups; raises ClusterError where a broker does not list its own."""


class HeldLists:
    """The lists at one cluster, *alias*. Threads may share it."""

    def __init__(self, alias: str, holder: ListHolder) -> None:
        self._alias, self._holder = alias, holder
        self.cluster_id: str | None = None
        """None until the cluster has returned it, and if it is not valid in a list."""
        self._is_swept = False
        self._problem = ""

    def ask(self, groups: Sequence[str]) -> Held:
        """Return what the list *groups* have committed; empty where the cluster does not answer."""
        try:
            if self.cluster_id is None:
                cluster_id = self._holder.cluster_id(_DEADLINE_S)
                encode_read_list(NOTHING_READ, cluster_id)  # raises if it is not valid in a list
                self.cluster_id = cluster_id
            found = self._holder.committed_offsets(groups, _DEADLINE_S)
            self._problem = ""
            return found
        except (ClusterError, ValueError) as problem:
            if str(problem) != self._problem:  # once as long as it stays the same
                logger.warning("clusters.%s: cannot read the stored read lists: %s", self._alias, problem)
            self._problem = str(problem)
            return {}

    def take_others_away(self, is_named: Callable[[str], bool], write: Writes) -> None:
        """Remove, once, the lists of groups no longer named: no driver would replace them before a rewind.

        The next call retries if a broker does not list its groups, or a list could not be removed.
        """
        if self._is_swept:
            return
        try:
            groups = [each for each in self._holder.groups(_DEADLINE_S) if each.startswith(_PREFIX)]
        except ClusterError as problem:
            logger.warning("clusters.%s: cannot read the stored read lists: %s", self._alias, problem)
            return
        others = [each for each in groups if not is_named(each.removeprefix(_PREFIX))]
        held = self.ask(others) if others else {}
        writes = [
            self.write_of(group, place, "")
            for group, offsets in held.items()
            if not isinstance(offsets, ClusterError)
            for place, committed in offsets.items()
            if listed(committed.metadata) is not None
        ]
        done = write(writes) if writes else ()
        failed = [each.error for each in done if each.outcome is not Outcome.COMMITTED]
        is_known = len(held) == len(others) and not any(isinstance(each, ClusterError) for each in held.values())
        self._is_swept = is_known and not failed
        if writes:
            gone = len(writes) - len(failed)
            logger.info("clusters.%s: removed %d read lists of groups no longer in sync.read_lists", self._alias, gone)

    def write_of(self, group: str, place: TopicPartition, text: str) -> OffsetWrite:
        """Return the write that stores *text*, or for "" an empty list; the cluster id must be known."""
        assert self.cluster_id is not None, "lists are written only once the cluster id is known"
        text = text or encode_read_list(NOTHING_READ, self.cluster_id).text
        found = decode_read_list(text)
        return OffsetWrite(group, *place, found.read_list.start if found else 0, None, None, metadata=text)


def own_group(group_id: str) -> str:
    """Return the group whose commits are the read lists of a group."""
    return f"{_PREFIX}{group_id}"


def seen_group(group_id: str) -> str:
    """Return the group whose commits are the marks of a group's consumers that use read lists."""
    return f"{OWN_GROUPS}seen.{group_id}"


def text_of_list(metadata: str) -> str:
    """Return a commit's metadata if it is a list with records, else "": no list and an empty one are the same."""
    return metadata if listed(metadata) is not None else ""


def listed(text: str) -> ReadList | None:
    """Return the list in a commit's metadata, None if it is empty or there is none."""
    found = decode_read_list(text) if text else None
    return found.read_list if found is not None and len(found.read_list.ranges.start) > 0 else None
