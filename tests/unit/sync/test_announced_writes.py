"""What ``cutover`` writes with a group's own metadata is known by the driver at work, which is another process."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.reconciler_site import ORDERS, Site, SiteWriter, mirrored_site
from offset_sync.model.values import OffsetWrite, Outcome, Rule
from offset_sync.state.own_writes import Intent
from offset_sync.sync.announced_writes import Announcements, take_announced
from offset_sync.sync.intent_log import IntentLog, restore_intents
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.write_ahead import WriteAheadWriter


class Files:
    """Texts by their paths, in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def names(self, folder: str) -> list[str]:
        return sorted(path.rpartition("/")[2] for path in self.texts)

    def read_text(self, path: str) -> str:
        return self.texts[path]

    def write_text(self, path: str, text: str) -> None:
        self.texts[path] = text

    def delete(self, path: str) -> None:
        self.texts.pop(path, None)


class Carrying(Site):
    """A driver at work that carries metadata over, and beside it a cutover."""

    files: Files

    def restart(self) -> None:
        super().restart()
        if not hasattr(self, "files"):
            self.files = Files()
        files: Any = self.files
        self.intents = IntentLog(files, "intents")
        self.announcements = Announcements(files, "intents")
        restore_intents(self.intents, self.state)
        writers = {a: WriteAheadWriter(a, self.state, SiteWriter(self, a), self.intents) for a in self.clusters}
        self.reconciler = Reconciler(self.config, self.state, self, writers, self.reconciliations)

    def read(self, alias: str, at_most: int | None = None) -> Any:
        take_announced(self.intents, self.state)
        return super().read(alias, at_most)

    def cut_over(self, target: str, offset: int) -> Outcome:
        """Write as the other process does: what it knows of its own writes ends with it."""
        other = Site(self.config)
        writer = WriteAheadWriter(target, other.state, SiteWriter(self, target), self.announcements)
        (outcome,) = writer.write([OffsetWrite("g", *ORDERS, offset, "m", Rule.SET, self.target_offset(target, "g"))])
        return outcome.outcome


@pytest.fixture
def site() -> Carrying:
    calm = mirrored_site()
    made = Carrying(calm.config, clock_ms=calm.clock_ms, index=calm.index)
    made.clusters.update(calm.clusters)
    made.commit("X", "g", 5, metadata="m")
    return made


def genuine(site: Site, alias: str) -> int:
    return int(site.offsets.clusters[alias].columns["genuine_offset"][0])


def test_what_a_cutover_writes_is_not_read_back_as_the_groups_own(site: Carrying) -> None:
    site.read_all()
    assert site.cut_over("Y", 7) is Outcome.COMMITTED
    assert len(site.read("Y")) == 0
    assert genuine(site, "Y") == -1


def test_a_move_there_and_back_leaves_each_commit_to_whom_it_belongs(site: Carrying) -> None:
    site.read_all()
    site.cut_over("Y", 7)
    site.read("Y")
    site.commit("Y", "g", 11, metadata="m")
    site.read("Y")
    site.cut_over("X", 9)
    site.read("X")
    assert (genuine(site, "X"), genuine(site, "Y")) == (5, 11)
    site.reconcile()
    assert {row.source for row in site.rows()} == {"Y"}
    assert site.target_offset("X", "g") == 9


def test_two_writes_of_one_partition_are_both_known_when_they_are_read_together(site: Carrying) -> None:
    site.read_all()
    site.cut_over("Y", 7)
    site.cut_over("Y", 8)
    assert len(site.read("Y")) == 0


def test_what_came_to_nothing_is_announced_no_more(site: Carrying) -> None:
    site.read_all()
    site.clusters["Y"].refused["g"] = "UNKNOWN_MEMBER_ID"
    assert site.cut_over("Y", 7) is Outcome.TARGET_ACTIVE
    assert site.files.texts == {}
    site.clusters["Y"].commit("g", ORDERS, 7, "m")
    assert len(site.read("Y")) == 1


def test_a_driver_that_is_started_afterwards_knows_it_too(site: Carrying) -> None:
    site.cut_over("Y", 7)
    site.restart()
    site.read_all()
    assert genuine(site, "Y") == -1
    assert len(site.files.texts) == 1


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_file_that_is_being_written_is_neither_dropped_nor_forgotten(site: Carrying, is_restarted: bool) -> None:
    site.read_all()
    path = "intents/cutover-1.json"
    site.files.texts[path] = '[["Y", "g"'
    site.read("Y")
    if is_restarted:
        site.restart()
    assert path in site.files.texts
    site.files.texts[path] = '[["Y", "g", "orders", 0, 7]]'
    site.clusters["Y"].commit("g", ORDERS, 7, "m")
    site.read_all()
    assert genuine(site, "Y") == -1


def test_what_the_history_tells_of_is_announced_no_more(site: Carrying) -> None:
    site.read_all()
    site.cut_over("Y", 7)
    site.read("Y")
    assert len(site.files.texts) == 1
    site.intents.remove([Intent("Y", "g", *ORDERS, 7)])
    assert (site.files.texts, site.intents.announced()) == ({}, [])
