"""Commits behind an open transaction, which ``read_committed`` consumers do not receive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition


@dataclass(frozen=True)
class HeldCommits:
    """What an open transaction holds back in one partition of ``__consumer_offsets``: offsets *stable* to *high*.

    *stable* is the last stable offset, where the oldest open transaction begins, *since_ms* the time of its first
    record; None: unknown. *keys* are all keys committed there, inside transactions or not: which of them count is
    decided when it ends. None: not all could be read, so any key may be affected.
    """

    partition: int
    stable: int
    high: int
    keys: frozenset[GroupPartition] | None
    since_ms: int | None = None

    def may_concern(self, key: GroupPartition) -> bool:
        """Return whether the newest commit of *key*, whose coordinator leads this partition, may be held back."""
        return self.keys is None or key in self.keys

    def reason(self, cluster: str) -> str:
        """Return why a commit has to wait, with the partition, and since when."""
        place = f"{CONSUMER_OFFSETS}-{self.partition} at {cluster}"
        since = "" if self.since_ms is None else f" since {_to_text(self.since_ms)}"
        return f"an open transaction holds commits back from offset {self.stable} of {place}{since}"


def _to_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(timespec="seconds")
