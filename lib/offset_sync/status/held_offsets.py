"""What coordinators hold of groups at one moment, and partitions for which they hold nothing.

Targets are asked first, then sources, and the verdicts are read after both::

    target holds t(c) ── source holds c ── the newest verdict is of c

So a commit made in between shows as a difference at the source, and the target is never ahead of the verdict's commit.
Errs to not in sync: a row is in sync only if its source holds exactly the reported commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.cluster_queries import ClusterQueries, GroupAnswers
from offset_sync.state.record_index import RecordIndex
from offset_sync.status.assessment import Row
from offset_sync.sync.held_lists import own_group

_PARTS = 4


class Held(NamedTuple):
    """The *offset* of a key at a cluster's coordinator: None for none, or without an answer; then *error* says why."""

    offset: int | None
    error: str | None = None


@dataclass(frozen=True)
class HeldOffsets:
    """Answers by cluster: for groups translated to it, and for groups at home there.

    *lists* are the commits that hold the read lists of the latter, for groups that get some.
    """

    as_target: Mapping[str, GroupAnswers] = field(default_factory=dict)
    as_source: Mapping[str, GroupAnswers] = field(default_factory=dict)
    lists: Mapping[str, GroupAnswers] = field(default_factory=dict)

    def at_target(self, alias: str, key: GroupPartition) -> Held:
        """Return what *alias* holds of a key, of which it is not the source."""
        return _held(self.as_target.get(alias, {}), key)

    def at_source(self, alias: str, key: GroupPartition) -> Held:
        """Return what *alias* holds of a key, of which it is the source."""
        return _held(self.as_source.get(alias, {}), key)

    def list_at(self, alias: str, group_id: str, place: TopicPartition) -> str | None:
        """Return the read list at *alias* of a group that gets some and is at home there; None: not known."""
        found = self.lists.get(alias, {}).get(own_group(group_id))
        if found is None or isinstance(found, ClusterError):
            return None
        return found[place].metadata if place in found else ""


def ask_coordinators(
    clusters: ClusterQueries, aliases: Sequence[str], homes: Mapping[str, Collection[str]]
) -> HeldOffsets:
    """Ask all of *aliases* about the groups in *homes* (groups by source): as targets first, then as sources.

    Some groups are asked about beside others, so that no cluster waits for another. Never raises: groups without an
    answer have an error. *homes* has sets.
    """
    as_target, as_source = ({alias: dict[str, Any]() for alias in aliases} for _ in range(2))
    everyone = sorted(set().union(*homes.values()))

    def ask(part: int) -> None:
        mine = everyone[part::_PARTS]
        for alias in aliases:  # all have answered before the first source is asked
            there = [group for group in mine if any(group in homes[each] for each in homes if each != alias)]
            as_target[alias].update(clusters.committed_offsets(alias, there))
        for alias, groups in homes.items():
            as_source[alias].update(clusters.committed_offsets(alias, [group for group in mine if group in groups]))

    with ThreadPoolExecutor(_PARTS, "coordinators") as threads:
        list(threads.map(ask, range(min(_PARTS, len(everyone)))))
    return HeldOffsets(as_target, as_source)


def _held(answers: GroupAnswers, key: GroupPartition) -> Held:
    answer = answers.get(key.group_id)
    if answer is None or isinstance(answer, ClusterError):
        return Held(None, str(answer or "its coordinator was not queried"))
    found = answer.get(key.topic_partition)
    return Held(None if found is None else found.offset)


def note_uncommitted(rows: Sequence[Row], index: RecordIndex, held: HeldOffsets, metadata: MetadataByCluster) -> None:
    """Add the partitions of each row's topic, at either cluster, for which its group has an offset at neither.

    Partitions not known to exist are left out: for a cluster that does not answer the indexed ones count.
    """
    by_stream: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_stream.setdefault((row["group_id"], row["stream"]), []).append(row)
    for (group_id, stream), some in by_stream.items():
        source, target = some[0]["source_cluster"], some[0]["target_cluster"]
        committed = {row["partition"] for row in some}
        for answers in (held.as_source.get(source, {}), held.as_target.get(target, {})):
            if not isinstance(answer := answers.get(group_id, {}), ClusterError):
                committed |= {place.partition for place in answer if place.topic == stream}
        count = max(_partitions(index, alias, stream, metadata) for alias in (source, target))
        left = to_ranges(number for number in range(count) if number not in committed)
        for row in some:
            row["uncommitted"] = left or None


def to_ranges(numbers: Iterable[int]) -> str:
    """Return ascending *numbers* as ``1, 4-7``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, each)) for each in found)


def from_ranges(text: str) -> list[int]:
    """Return the numbers that :func:`to_ranges` has written."""
    found: list[int] = []
    for each in text.split(", "):
        first, _, last = each.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _partitions(index: RecordIndex, alias: str, topic: str, metadata: MetadataByCluster) -> int:
    said = metadata.get(alias)
    known = None if said is None or isinstance(said, ClusterError) else said.topics.get(topic)
    return known.partitions if known is not None else index.partitions(alias, topic)
