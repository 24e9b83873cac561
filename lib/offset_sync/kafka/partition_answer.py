"""What a coordinator holds of one partition of a group, and who may be asked about many groups at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class PartitionAnswer(NamedTuple):
    """What the broker answers for one partition; *error* and *leader_epoch* are None where there is none."""

    topic: str
    partition: int
    offset: int
    metadata: str
    error: str | None
    leader_epoch: int | None = None


@dataclass(frozen=True)
class Committed:
    """What a cluster holds for one partition of a group; consumers and we name a leader epoch, tools do not."""

    offset: int
    metadata: str
    leader_epoch: int | None = field(default=None, compare=False)


class ManyGroups(Hashable, Protocol):
    """A faster way to read many groups, which may leave out any of them; see ``sync.groups_at_once``."""

    def read(self, groups: Sequence[str], seconds: float) -> Mapping[str, list[PartitionAnswer]]: ...
