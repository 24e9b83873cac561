"""Our own commit is not taken for a genuine one, even if the target's log brings it before the target's answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from offset_sync.announcing import AnnouncedCommit
from offset_sync.model import OffsetWrite, WriteOutcome
from offset_sync.testing.settling import Site, mirrored_site
from offset_sync.translate.ledger import Intent


class HastySite(Site):
    """A site where the log of the target is read while the answers to a wave are still under way."""

    def restart(self) -> None:
        super().restart()
        self.noted: set[Intent] = set()
        self.announced = AnnouncedCommit(self.book, self.lock, self.write_and_read, self)

    def note(self, intents: Sequence[Intent]) -> None:
        self.noted |= set(intents)

    def forget(self, intents: Iterable[Intent]) -> None:
        self.noted -= set(intents)

    def write_and_read(self, target: str, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        assert {write.offset for write in writes if write.metadata == "m"} <= {write.offset for write in self.noted}
        outcomes = super().write(target, writes)
        self.read(target)
        return outcomes

    def write(self, target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        return list(self.announced(target, writes))


def hasty_site() -> HastySite:
    calm = mirrored_site()
    site = HastySite(calm.config, clock_ms=calm.clock_ms, index=calm.index)
    site.clusters.update(calm.clusters)
    return site


@pytest.mark.parametrize("metadata", ["", "m"])
def test_a_commit_that_is_read_before_its_answer_is_ours(metadata: str) -> None:
    site = hasty_site()
    for offset in (3, 5, 8):
        site.commit("X", "readers", offset, metadata=metadata)
        site.settle()
        assert site.standing("Y", "readers") == offset + 2
    assert {row.source for number in range(len(site.settlements)) for row in site.rows(number)} == {"X"}
    site.commit("X", "readers", 1, metadata=metadata)
    site.settle()
    assert site.standing("Y", "readers") == 3


def test_what_was_refused_is_genuine_when_somebody_commits_it() -> None:
    site = hasty_site()
    site.commit("X", "readers", 5, metadata="m")
    site.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    site.settle()
    assert site.noted == set()
    site.commit("Y", "readers", 7, metadata="n")
    site.settle()
    assert [row.source for row in site.rows()] == ["Y"]
