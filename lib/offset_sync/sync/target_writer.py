"""Commit at one target from any process: what the driver and the executors' tasks run alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import ManyGroups
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.fence import Fence, OpenFence
from offset_sync.sync.offset_writer import write_offsets


@dataclass(frozen=True)
class TargetWriter:
    """Commits at the cluster *alias*; pickled with its options, which may hold secrets, to the executors.

    A process keeps one client per target, so that a task finds the connections of the task before it.
    """

    alias: str
    options: Mapping[str, str] = field(repr=False)
    requests_in_flight: int
    deadline_seconds: float
    is_dry_run: bool
    fence: Fence = field(default_factory=OpenFence)
    at_once: ManyGroups | None = None
    names: Names = SAME_NAMES

    def fenced_by(self, fence: Fence, at_once: ManyGroups | None = None) -> TargetWriter:
        """Return one that writes as long as *fence* is open, and reads by *at_once* first.

        Only in the driver may the one be a lease, and is there another one.
        """
        return replace(self, fence=fence, at_once=at_once)

    def write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        """Return one outcome per write, in order; raises TakenOverError where somebody else has taken over."""
        options = tuple(sorted(self.options.items()))
        admin = _client(self.alias, options, self.names, self.requests_in_flight, self.at_once)
        admin.take_names(self.names)  # an earlier task may have left it, which knew fewer
        return write_offsets(writes, admin, fence=self.fence, dry_run=self.is_dry_run, deadline=self.deadline_seconds)


@lru_cache(maxsize=64)
def _client(
    alias: str,
    options: tuple[tuple[str, str], ...],
    names: Names,
    requests_in_flight: int,
    at_once: ManyGroups | None,
) -> ClusterAdmin:
    return ClusterAdmin(alias, dict(options), names, requests_in_flight=requests_in_flight, at_once=at_once)
