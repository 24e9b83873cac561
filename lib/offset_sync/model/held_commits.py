"""Commits behind an open transaction, which ``read_committed`` consumers do not receive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that is neither committed nor aborted, as its coordinator knows it."""

    transactional_id: str
    producer_id: int
    started_at_ms: int


@dataclass(frozen=True)
class HeldCommits:
    """What an open transaction holds back in one partition of ``__consumer_offsets``: offsets *stable* to *high*.

    *stable* is the last stable offset, where the oldest open transaction begins. *keys* are all keys committed there,
    inside transactions or not: which of them count is decided when it ends. None: not all could be read, so any key may
    be affected. *transactions* is empty where transaction coordinators do not know it, or may not be read.
    """

    partition: int
    stable: int
    high: int
    keys: frozenset[GroupPartition] | None
    transactions: tuple[OpenTransaction, ...] = ()

    def may_concern(self, key: GroupPartition) -> bool:
        """Return whether the newest commit of *key*, whose coordinator leads this partition, may be held back."""
        return self.keys is None or key in self.keys

    def reason(self, cluster: str) -> str:
        """Return why a commit has to wait, with the partition and, where they are known, the producers."""
        place = f"{CONSUMER_OFFSETS}-{self.partition} at {cluster}"
        if not self.transactions:
            return (
                f"a transaction that is open since offset {self.stable} of {place} holds commits back; "
                "kafka-transactions.sh describe-producers names its producer"
            )
        named = ", ".join(
            f"producer {each.producer_id} ({each.transactional_id!a}, since {_to_text(each.started_at_ms)})"
            for each in self.transactions
        )
        return f"an open transaction holds commits back from offset {self.stable} of {place}: {named}"


def _to_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(timespec="seconds")
