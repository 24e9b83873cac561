"""The history behind the commits: every row of a micro-batch, only news of a reconcile pass, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from fakes.reconciler_site import Site, mirrored_site
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.sync.translation_history import TranslationHistory
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
