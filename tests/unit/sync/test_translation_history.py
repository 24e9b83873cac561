"""The history behind the commits: recording waits for nothing, nothing is lost, and what a report shows is in it."""

from __future__ import annotations

import threading

import pyarrow as pa

from fakes.reconciler_site import ORDERS, Site, mirrored_site, site_of
from offset_sync.model.values import Outcome
from offset_sync.sync.translation_history import TranslationHistory, to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table

PATIENCE_S = 10.0


class Appended:
    """Takes what is appended, once it may go on and but for the first time, when the disk is full."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []
        self.errors = [OSError("disk full\nmore")]
        self.may_go_on, self.has_begun = threading.Event(), threading.Event()

    def append(self, table: Table, rows: pa.Table) -> None:
        assert table is OFFSET_TRANSLATIONS
        assert threading.current_thread() is not threading.main_thread()
        self.has_begun.set()
        assert self.may_go_on.wait(PATIENCE_S)
        if self.errors:
            raise self.errors.pop()
        self.tables.append(rows)


def test_recording_never_waits_and_rows_that_wait_or_could_not_be_appended_are_appended_together() -> None:
    site, appended = mirrored_site(), Appended()
    writer = TranslationHistory(appended, site.offsets.keys, site.config)
    for offset in range(1, 7):
        site.commit("X", "readers", offset)
        site.reconcile_batch("X")
        writer.append(site.reconciliations[-1])
        assert appended.has_begun.wait(PATIENCE_S)
    appended.may_go_on.set()
    writer.close()
    assert len(appended.tables) < 3
    assert writer.error is None
    assert pa.concat_tables(appended.tables)["source_offset"].to_pylist() == [1, 2, 3, 4, 5, 6]


def published(site: Site) -> list[tuple[str | None, ...]]:
    """The news of the last pass: outcome, members and contest."""
    done = [each for each in site.reconciliations if each.is_news.any()]
    site.reconciliations.clear()
    rows = [
        row
        for each in done
        for row in to_rows(each, each.is_news.nonzero()[0], site.offsets.keys, site.config).to_pylist()
    ]
    return [(row["outcome"], row["members"], row["contest"]) for row in rows]


def test_what_is_shown_beside_an_answer_is_published_when_it_changes_also_of_a_key_that_is_settled() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    assert published(site) == [("COMMITTED", "X?, Y?", None)]
    for _ in range(4):
        site.reconcile()
    published(site)
    for alias, groups in (("X", {"readers"}), ("Y", None)):
        site.state.homes.note_members(alias, groups, site.clock_ms[0])
    site.reconcile()
    assert published(site) == [("UNCHANGED", "X, Y?", None)]
    site.state.homes.note_members("Y", {"others"}, site.clock_ms[0])
    site.reconcile()
    assert published(site) == [("UNCHANGED", "X", None)]
    site.reconcile()
    assert published(site) == []
    site.state.homes.silence_ms = 60_000
    site.commit("Y", "readers", 7)
    site.commit("X", "readers", 5)
    site.reconcile()
    assert published(site) == [("WITHHELD", "X", "X, Y")]


def test_a_deletion_at_the_home_is_published_once() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    published(site)
    site.clusters["X"].forget("readers", ORDERS)
    site.reconcile()
    assert published(site) == [("GONE", "X?, Y?", None)]
    site.reconcile()
    assert published(site) == []
    site.commit("X", "readers", 4)
    site.reconcile()
    assert [outcome for outcome, *_ in published(site)] == ["UNCHANGED"]


def test_a_home_that_the_group_has_left_is_told_once_and_again_when_it_is_back() -> None:
    site = site_of("X", "Y")
    site.commit("X", "g", 4)
    site.reconcile()
    published(site)
    site.commit("Y", "g", 6)
    site.reconcile()
    site.reconcile()
    assert [(*pair, outcome) for pair, outcome in moved(site)] == [("X", "Y", "GONE"), ("Y", "X", "COMMITTED")]
    site.commit("X", "g", 7)
    site.reconcile()
    site.reconcile()
    assert [(*pair, outcome) for pair, outcome in moved(site)] == [("X", "Y", "COMMITTED"), ("Y", "X", "GONE")]


def moved(site: Site) -> list[tuple[tuple[str, str], str]]:
    """The news since the last call, by direction."""
    found = [
        ((each.translated.source, each.translated.target), Outcome(code).name)
        for each in site.reconciliations
        for code in each.outcome[each.is_news].tolist()
    ]
    site.reconciliations.clear()
    return sorted(found)
