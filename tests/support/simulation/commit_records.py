"""Records that a world has more to say of than its tables and logs: commits, and moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from fakes.clusters import CommitRecord
from offset_sync.decode.consumer_offsets import coordinator_hashes


@dataclass(frozen=True)
class SimRecord(CommitRecord):
    """A record of ``__consumer_offsets``, with what its log does not say."""

    is_ours: bool = False
    true_ms: int = 0
    writer: object = field(default=None, repr=False)


@dataclass
class MadeMove:
    """A move of a group and topic by ``cutover``, and when drivers noticed it while they looked on."""

    stream: tuple[str, str]
    cluster: str
    at_ms: int
    noticed_ms: list[int] = field(default_factory=list)


@cache
def hash_of(group: str) -> int:
    """Return the hash that chooses the coordinator of a group."""
    return int(coordinator_hashes([group])[0])
