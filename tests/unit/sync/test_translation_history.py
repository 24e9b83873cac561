"""The history behind the commits: recording waits for nothing, and nothing is lost."""

from __future__ import annotations

import threading

import pyarrow as pa

from fakes.reconciler_site import mirrored_site
from offset_sync.sync.translation_history import TranslationHistory
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
        site.reconciler.reconcile_batch("X", site.read("X"), 17)
        writer.append(site.reconciliations[-1])
        assert appended.has_begun.wait(PATIENCE_S)
    appended.may_go_on.set()
    writer.close()
    assert len(appended.tables) < 3
    assert writer.error is None
    assert pa.concat_tables(appended.tables)["source_offset"].to_pylist() == [1, 2, 3, 4, 5, 6]
