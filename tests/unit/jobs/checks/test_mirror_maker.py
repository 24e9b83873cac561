"""What the command check says of MirrorMaker's checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from offset_sync.config import parse_config
from offset_sync.jobs.checks.mirror_maker import judge_mirror_maker
from offset_sync.kafka.error_codes import NotAuthorizedError

TOPIC = "dc1.checkpoints.internal"


@dataclass
class Cluster:
    """dc2, with these topics; some may not be described, some not be read."""

    topics: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    alias: str = "dc2"

    def partition_count(self, topic: str) -> int | None:
        if topic in self.hidden:
            raise NotAuthorizedError(self.alias, topic)
        return 1 if topic in self.topics else None

    def unreadable(self, topics: list[str]) -> dict[str, NotAuthorizedError]:
        return {each: NotAuthorizedError(self.alias, each, "Read") for each in topics if each in self.closed}


def said(cluster: Any) -> list[tuple[str, bool]]:
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in ("dc1", "dc2")}
    found = judge_mirror_maker(parse_config({"clusters": clusters, "topics": {"include": ["orders"]}}, {}), cluster)
    return [(each.level.value, TOPIC in each.text) for each in found]


def test_where_it_is_not_nothing_is_said() -> None:
    assert said(Cluster()) == []
    assert said(Cluster({"dc2.checkpoints.internal"})) == []


def test_where_it_keeps_checkpoints_its_group_sync_may_write() -> None:
    assert said(Cluster({TOPIC})) == [("WARN", True)]


def test_what_may_not_be_described_or_read_is_named() -> None:
    assert said(Cluster(hidden={TOPIC})) == [("SKIP", True)]
    assert said(Cluster({TOPIC}, closed={TOPIC})) == [("SKIP", True)]
