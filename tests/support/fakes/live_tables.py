"""What a command knows of groups once it has read the tables: here from a site in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fakes.reconciler_site import Site
from offset_sync.model.errors import ClusterError
from offset_sync.state.cluster_queries import GroupAnswers
from offset_sync.state.key_index import KeyRows


@dataclass
class Queries:
    """Asks the clusters of *site*; *listed* are the groups that they list, with whether these have members."""

    site: Site
    listed: Mapping[str, bool] | ClusterError = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.admins, self.fetch = self.site.admins, self.site.fetch

    def listed_groups(self, alias: str) -> Mapping[str, bool] | ClusterError:
        """Return what any cluster lists."""
        return self.listed

    def committed_offsets(self, alias: str, groups: Sequence[str]) -> GroupAnswers:
        """Return what a cluster holds."""
        try:
            return self.site.clusters[alias].committed_offsets(groups, 1.0)
        except ClusterError as error:
            return dict.fromkeys(groups, error)


class LiveTables:
    """What the tables say of groups, by a site in memory; *said* is published, *decided* is what a report decides."""

    def __init__(self, site: Site) -> None:
        self.state, self.clusters, self.tables = site.state, Queries(site), site.tables
        self.said: Any = None
        self.decided: Any = []
        self.asked: list[list[str]] = []
        self.on_follow: Callable[[], None] = lambda: None

    @property
    def is_decided_here(self) -> bool:
        """Whether no driver is alive."""
        return self.said is None

    def published(self, now_ms: int, groups: Collection[str]) -> Any:
        """Return what is published."""
        return self.report(now_ms, groups) if self.said is None else self.said

    def report(self, _now_ms: int, groups: Collection[str]) -> Any:
        """Return what is decided here, and note of which groups."""
        self.asked.append(sorted(groups))
        return self.decided

    def follow(self) -> None:
        """Let homes be decided."""
        self.on_follow()

    def keys_of(self, groups: Collection[str]) -> KeyRows:
        """Return the rows of all keys of *groups*."""
        return np.array([n for n, key in enumerate(self.state.offsets.keys) if key[0] in groups], np.intp)
