"""A topic that may not be read is left out of its cluster's query, named, and taken up once the right is granted."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from fakes.clusters import MemoryTopic
from fakes.reconciler_site import config_of
from offset_sync.ingest.index_parts import EVERY_S, TopicAccess
from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError

INCLUDED = ["orders", "pay-.*"]


class Admin:
    """A cluster with *topics*, of which some may not be described (*hidden*) and some not be read (*closed*)."""

    def __init__(self, alias: str, *topics: str, hidden: Collection[str] = (), closed: Collection[str] = ()) -> None:
        self.alias, self.there, self.hidden, self.closed = alias, set(topics), set(hidden), set(closed)
        self.is_down = False

    def topics(self) -> dict[str, MemoryTopic]:
        self._answer()
        return {name: MemoryTopic("id") for name in self.there - self.hidden}

    def describe(self, topics: Collection[str], deadline: float = 0) -> dict[str, MemoryTopic | ClusterError]:
        self._answer()
        hidden = {name: ClusterError(self.alias, f"{name} is hidden") for name in self.hidden & set(topics)}
        return {name: MemoryTopic("id") for name in (self.there - self.hidden) & set(topics)} | hidden

    def unreadable(self, topics: Collection[str], deadline: float = 0) -> dict[str, ClusterError]:
        self._answer()
        closed = (self.there & self.closed & set(topics)) - self.hidden
        return {name: ClusterError(self.alias, f"{name} is closed") for name in sorted(closed)}

    def _answer(self) -> None:
        if self.is_down:
            raise ClusterError(self.alias, "is down")


class Site:
    """Rights to *admins*, and a clock that is turned by hand."""

    def __init__(self, *admins: Admin) -> None:
        self.now = 0.0
        clock = Clock(lambda: self.now, lambda seconds: None)
        config = config_of([each.alias for each in admins] if len(admins) > 1 else ["X", "Y"])
        config = config.model_copy(update={"topics": config.topics.model_copy(update={"include": INCLUDED})})
        self.rights = TopicAccess(config, {each.alias: each for each in admins}, clock)  # type: ignore[misc]
        for each in admins:
            self.rights.readable(each.alias)

    def granted_after(self, seconds: float) -> list[str]:
        self.now += seconds
        return self.rights.granted()


def test_what_may_not_be_read_is_left_out_and_everything_else_is_read() -> None:
    """A topic that is named in full is asked for though no list has it; a silent cluster is an error, and no right."""
    site = Site(admin := Admin("X", "orders", "pay-in", "pay-out", "other", closed=["pay-in", "other"]))
    assert site.rights.readable("X") == (True, {"pay-in"})
    assert site.rights.refusals() == ["clusters.X: pay-in is closed"]
    admin.closed |= admin.there
    assert site.rights.readable("X") == (False, {"orders", "pay-in", "pay-out"})
    assert Site(Admin("X")).rights.readable("X") == (False, set())
    hidden = Site(admin := Admin("X", "pay-in", hidden=["orders"]), Admin("Y", "orders"))
    assert (hidden.rights.readable("X"), hidden.rights.refusals()) == ((True, set()), ["clusters.X: orders is hidden"])
    admin.is_down = True
    with pytest.raises(ClusterError, match="is down"):
        hidden.rights.readable("X")
    assert hidden.granted_after(EVERY_S) == []


@pytest.mark.parametrize("change", ["hidden", "closed", "there"])
def test_a_right_that_was_granted_and_a_topic_that_is_gone_are_noticed_within_a_minute(change: str) -> None:
    topic = "orders" if change == "hidden" else "pay-in"
    admin = Admin("X", "orders", "pay-in", hidden=["orders"], closed=["pay-in"])
    site = Site(admin, Admin("Y", "orders"))
    assert [site.granted_after(EVERY_S) for _ in range(3)] == [[], [], []]
    getattr(admin, change).discard(topic)
    assert site.granted_after(EVERY_S / 2) == []
    assert site.granted_after(EVERY_S / 2) == ["X"]
    site.rights.readable("X")
    assert site.granted_after(EVERY_S) == []
