"""The history behind the commits: every row of a micro-batch, only news of a reconcile pass, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from fakes.reconciler_site import ORDERS, Site, mirrored_site, site_of
from offset_sync.model.values import Outcome
from offset_sync.sync import translation_history
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.sync.translation_history import TranslationHistory, to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table

PATIENCE_S = 10.0


class Appended:
    """Takes what is appended; *hold* lets it wait, *errors* are raised one by one before it takes anything."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []
        self.errors: list[Exception] = []
        self.may_go_on, self.has_begun = threading.Event(), threading.Event()
        self.may_go_on.set()

    def append(self, table: Table, rows: pa.Table) -> None:
        assert table is OFFSET_TRANSLATIONS
        self.has_begun.set()
        is_waited_for = threading.current_thread() is threading.main_thread()
        assert self.may_go_on.wait(0 if is_waited_for else PATIENCE_S)
        if self.errors:
            raise self.errors.pop(0)
        self.tables.append(rows)

    def rows(self) -> list[dict[str, Any]]:
        return [row for table in self.tables for row in table.to_pylist()]


@pytest.fixture
def appended() -> Appended:
    return Appended()


@pytest.fixture
def site() -> Site:
    return mirrored_site()


@pytest.fixture
def writer(site: Site, appended: Appended) -> Iterator[TranslationHistory]:
    made = TranslationHistory(appended, site.offsets.keys, site.config)
    yield made
    appended.may_go_on.set()
    made.close()


def reconciled(
    site: Site, offset: int, reconcile: Callable[[], object] | None = None, group: str = "readers"
) -> Reconciliation:
    site.commit("X", group, offset)
    keys = site.read("X")
    if reconcile is None:
        site.reconciler.reconcile_batch("X", keys, 17)
    else:
        reconcile()
    return site.reconciliations[-1]


def test_a_micro_batch_is_written_whole_and_a_reconcile_pass_only_where_it_says_something_new(
    site: Site, writer: TranslationHistory, appended: Appended
) -> None:
    writer.append(reconciled(site, 4))
    keys = site.offsets.ids([("readers", "orders", 0)])
    writer.append(reconciled(site, 4, lambda: site.reconciler.reconcile_batch("X", keys, 18)))
    writer.append(reconciled(site, 5, site.reconciler.reconcile_all, group="others"))  # answers for readers once more
    assert len(site.reconciliations[-1].translated.commits.key) == 2
    site.reconciler.reconcile_all()
    writer.append(site.reconciliations[-1])
    writer.close()
    assert [(row["group_id"], row["outcome"], row["batch_id"]) for row in appended.rows()] == [
        ("readers", "COMMITTED", 17),
        ("readers", "UNCHANGED", 18),
        ("others", "COMMITTED", None),
    ]


def test_recording_never_waits_and_rows_that_wait_or_could_not_be_appended_are_appended_together(
    site: Site, writer: TranslationHistory, appended: Appended
) -> None:
    appended.errors = [OSError("disk full\nmore")]
    appended.may_go_on.clear()
    writer.append(reconciled(site, 1))
    assert appended.has_begun.wait(PATIENCE_S)
    for offset in range(2, 7):
        writer.append(reconciled(site, offset))
    appended.may_go_on.set()
    writer.close()
    assert len(appended.tables) < 3
    assert writer.error is None
    assert [row["source_offset"] for row in appended.rows()] == [1, 2, 3, 4, 5, 6]


def test_a_table_that_cannot_be_written_for_long_costs_the_oldest_rows_and_not_all_the_memory(
    site: Site, writer: TranslationHistory, appended: Appended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_history, "MOST_ROWS_KEPT", 2)
    appended.errors = [OSError("disk full")] * 3
    for offset in range(1, 5):
        appended.has_begun.clear()
        writer.append(reconciled(site, offset))
        assert appended.has_begun.wait(PATIENCE_S)
    writer.close()
    assert [row["source_offset"] for row in appended.rows()][-2:] == [3, 4]
    assert len(appended.rows()) <= 3


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


def test_what_is_shown_beside_an_answer_is_published_when_it_changes_also_of_a_key_that_is_settled(site: Site) -> None:
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


def test_a_deletion_at_the_home_is_published_once(site: Site) -> None:
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
    site.commit("X", "g", 6)
    site.reconcile()
    site.reconcile()
    assert [(*pair, outcome) for pair, outcome in moved(site)] == [("X", "Y", "UNCHANGED"), ("Y", "X", "GONE")]


def moved(site: Site) -> list[tuple[tuple[str, str], str]]:
    """The news since the last call, by direction."""
    found = [
        ((each.translated.source, each.translated.target), Outcome(code).name)
        for each in site.reconciliations
        for code in each.outcome[each.is_news].tolist()
    ]
    site.reconciliations.clear()
    return sorted(found)


def test_a_dry_run_ends_nothing(site: Site, appended: Appended) -> None:
    site.commit("X", "readers", 4)
    site.reconcile()
    site.clusters["X"].forget("readers", ORDERS)
    site.reconcile()
    for is_dry in (True, False):
        history = TranslationHistory(appended, site.offsets.keys, site.config, is_dry=is_dry)
        for each in site.reconciliations:
            history.append(each)
        history.close()
    assert [row["outcome"] for row in appended.rows()] == ["COMMITTED", "COMMITTED", "GONE"]
