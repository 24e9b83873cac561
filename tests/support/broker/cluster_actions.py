"""Scenes that share their passes: every scene prepares something, all are synced at once, and the offsets are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker.committed_offsets import Partition, committed
from broker.crafted_logs import Clusters
from broker.installation import Installation, Row
from offset_sync.kafka.requests import Committed


@dataclass
class Acts:
    """The offsets at every cluster, and the translations, after each act; acts count from 0."""

    clusters: Clusters
    installation: Installation
    groups: list[str]
    failures: list[list[str]] = field(default_factory=list)
    _held: list[dict[str, dict[str, dict[Partition, Committed]]]] = field(default_factory=list)
    _rows: list[list[Row]] = field(default_factory=list)

    def play(self) -> None:
        """Sync once, and keep the offsets and the new rows."""
        known = sum(map(len, self._rows))
        self.failures.append(self.installation.sync())
        rows = self.installation.translations()
        self._rows.append(rows[known:])
        held = {alias: committed(cluster, self.groups) for alias, cluster in self.clusters.items()}
        self._held.append(held)

    def value(self, act: int, alias: str, group: str, place: Partition) -> Committed | None:
        """Return what the group had on a cluster after *act*."""
        return self._held[act][alias][group].get(place)

    def offset(self, act: int, alias: str, group: str, place: Partition) -> int | None:
        """Return only the offset."""
        value = self.value(act, alias, group, place)
        return None if value is None else value.offset

    def rows(self, act: int, **wanted: object) -> list[Row]:
        """Return the rows of offset_translations that *act* added."""
        return [row for row in self._rows[act] if all(row[name] == value for name, value in wanted.items())]

    def said(self, act: int, group: str, **wanted: object) -> list[tuple[str, str]]:
        """Return state and outcome of what *act* added about a group."""
        return [(row["state"], row["outcome"]) for row in self.rows(act, group_id=group, **wanted)]
