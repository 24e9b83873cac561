"""What the coordinators hold of groups at the moment of a report, beside what the tables say of it.

Targets are asked first and sources last, and what the jobs have captured is looked at after both::

    target holds t(c) ── source holds c ── all commits up to here captured ── the newest captured is c

So a commit made in between shows as a difference at the source, and the target is never ahead of what is captured. Errs
to not in sync: a row is in sync only if its source holds the very commit that is reported on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition, TopicPartition
from offset_sync.status.assessment import Bools, has_text
from offset_sync.translate.index.runs import Int64s

GroupAnswers: TypeAlias = "Mapping[str, Mapping[TopicPartition, int] | ClusterError]"
"""What each group has committed at one cluster, or why nothing is known of it."""
_NOT_ASKED = "its coordinator was not asked"


class Coordinators(Protocol):
    """The coordinators of all clusters, as :class:`ClusterQueries` asks them."""

    def active_groups(self, alias: str) -> Collection[str] | ClusterError:
        """Return the groups of a cluster that have members now."""

    def committed_offsets(self, alias: str, groups: Sequence[str]) -> GroupAnswers:
        """Return what each of *groups* has committed at a cluster; a group with an error is an entry."""


@dataclass(frozen=True)
class Held:
    """What one cluster's coordinators hold of some keys; all columns have shape (keys,).

    *offset* is ABSENT where they hold nothing, or did not answer: then *error* says why, else it is None.
    """

    offset: Int64s
    error: NDArray[np.object_]

    @property
    def is_known(self) -> Bools:
        """True where the coordinator has answered."""
        return ~has_text(self.error)


@dataclass(frozen=True)
class HeldOffsets:
    """Answers by cluster: of groups that are translated to it, of groups at home there, and which have members.

    *sources* has the rows of keys that are reported on from another cluster than their home: see
    :func:`offset_sync.status.contests.sources_beside`.
    """

    as_target: Mapping[str, GroupAnswers] = field(default_factory=dict)
    as_source: Mapping[str, GroupAnswers] = field(default_factory=dict)
    sources: Mapping[int, str] = field(default_factory=dict)
    active: Mapping[str, Collection[str] | ClusterError] = field(default_factory=dict)

    def at_target(self, alias: str, keys: Sequence[GroupPartition]) -> Held:
        """Return what *alias* holds of *keys*, of which it is not the source."""
        return _held(self.as_target.get(alias, {}), keys)

    def at_source(self, alias: str, keys: Sequence[GroupPartition]) -> Held:
        """Return what *alias* holds of *keys*, of which it is the source."""
        return _held(self.as_source.get(alias, {}), keys)


def ask_active(coordinators: Coordinators, aliases: Sequence[str]) -> dict[str, Collection[str] | ClusterError]:
    """Return the groups of each cluster that have members; clusters are asked side by side."""
    with ThreadPoolExecutor(max(1, len(aliases)), "members") as threads:
        return dict(zip(aliases, threads.map(coordinators.active_groups, aliases), strict=True))


def ask_coordinators(
    coordinators: Coordinators, aliases: Sequence[str], homes: Mapping[str, Collection[str]]
) -> HeldOffsets:
    """Ask all of *aliases* about the groups in *homes* (groups by source): as targets first, then as sources.

    Clusters are asked side by side. Never raises: what is not answered has its error.
    """
    everywhere = {
        alias: sorted({group for source, groups in homes.items() if source != alias for group in groups})
        for alias in aliases
    }
    with ThreadPoolExecutor(max(1, len(aliases)), "coordinators") as threads:

        def ask(wanted: Mapping[str, Sequence[str]]) -> dict[str, GroupAnswers]:
            asked = {
                alias: threads.submit(coordinators.committed_offsets, alias, each)
                for alias, each in wanted.items()
                if each
            }
            return {alias: answer.result() for alias, answer in asked.items()}

        as_target = ask(everywhere)
        return HeldOffsets(as_target, ask({alias: sorted(groups) for alias, groups in homes.items()}))


def _held(answers: GroupAnswers, keys: Sequence[GroupPartition]) -> Held:
    offset, error = np.full(len(keys), ABSENT, np.int64), np.full(len(keys), None, np.object_)
    for row, (group_id, topic, partition) in enumerate(keys):
        answer = answers.get(group_id)
        if answer is None or isinstance(answer, ClusterError):
            error[row] = _NOT_ASKED if answer is None else str(answer)
        else:
            offset[row] = answer.get(TopicPartition(topic, partition), ABSENT)
    return Held(offset, error)
