"""What a living driver has published is reported as what a report decides itself; a dead driver's is not reported."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import Row, StatusSite, moved, site_of_logs
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from offset_sync.model.reasons import Reason
from offset_sync.state.heartbeat import FRESH_S, JOB, beat
from offset_sync.state.lease import Lease
from offset_sync.state.restore import ANSWERS_SCHEMA, fold_answers
from offset_sync.status.live_state import PublishedVerdicts, by_direction
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore


def published(site: StatusSite) -> pa.Table:
    """What the driver of a site has written to its history, as a reader folds it."""
    keys, told = site.offsets.keys, site.reconciliations
    rows = [to_rows(each, np.flatnonzero(each.is_news), keys, site.config) for each in told]
    return fold_answers(ANSWERS_SCHEMA.empty_table(), pa.concat_tables([OFFSET_TRANSLATIONS.no_rows, *rows]))


def reports(site: StatusSite) -> tuple[list[Row], list[Row]]:
    """Report by what the driver has published, and by what a report decides itself."""
    now_ms, held = site.clock_ms[0], site.ask()
    both = (published(site), site.decided(now_ms))
    first, second = (site.report_on(each, held, now_ms) for each in both)
    return sorted(first, key=str), sorted(second, key=str)


def happen(site: StatusSite, rng: random.Random) -> None:
    """A group commits at some cluster, gains members, or deletes its offset."""
    alias, group = rng.choice([*site.clusters]), rng.choice("ab")
    deed: Callable[[], object] = rng.choice(
        [
            lambda: site.commit(alias, group, rng.randint(0, 12)),
            lambda: site.active.setdefault(alias, set()).symmetric_difference_update({group}),
            lambda: site.clusters[alias].forget(group, ORDERS) if site.target_offset(alias, group) else None,
        ]
    )
    deed()


@law(60)
@given(st.integers(0, 2**32))
def test_a_report_says_the_same_by_what_is_published_and_by_what_it_decides_itself(seed: int) -> None:
    rng = random.Random(seed)
    case = rng.choice([each for each in random_cases(random_world(rng, steps=20), rng) if each.source] or [None])
    if case is None:
        return
    site = site_of_logs(case, case.source, case.target)
    for _ in range(rng.randint(1, 8)):
        happen(site, rng)
        site.read_all()
        site.ask()
        site.reconcile()
    for _ in range(3):
        site.reconcile()
    by_driver, by_report = reports(site)
    assert by_driver == by_report


def now(site: StatusSite, verdicts: pa.Table) -> Row:
    (row,) = site.report_on(verdicts, site.ask(), site.clock_ms[0])
    return row


def test_what_the_index_has_got_since_the_driver_decided_would_be_repeated() -> None:
    site = moved("X0:9", "X0:4", 9)
    decided = site.decided(site.clock_ms[0])
    site.put(log("Y", "X0:9"))
    row = now(site, decided)
    assert (row["target_offset"], row["duplicates"], row["duplicates_at_most"], row["status"]) == (4, 5, 5, "Behind")
    site.index.ids["X", "orders"].add("another")
    row = now(site, decided)
    assert (row["status"], row["duplicates"], row["lost"]) == ("Mirroring", None, None)


def test_a_record_sent_again_above_the_published_answer_is_no_false_in_sync() -> None:
    site = moved("X0:3", "X0:3", 2)
    decided = site.decided(site.clock_ms[0])
    site.put(log("Y", "X0 X1 X2 X0"))
    row = now(site, decided)
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"]) == (2, 2, 1)
    assert (row["status"], row["reason"]) == ("Mirroring", Reason.READ_ABOVE(1))


def test_a_record_that_came_late_below_the_published_answer_is_no_false_in_sync() -> None:
    """X2 has come to Y below X1; a driver that had not met it yet would have answered 2, where X1 is."""
    site = moved("X0 X1 X2 X3", "X0 X2 X1 X3", 1)
    site.commit("X", "g", 1)
    site.reconcile()
    rows = published(site)
    assert rows["target_offset"].to_pylist() == [1]
    older = rows.set_column(rows.schema.get_field_index("target_offset"), "target_offset", pa.array([2], pa.int64()))
    site.clusters["Y"].commit("g", ORDERS, 2)
    row = now(site, older)
    assert (row["status"], row["reason"]) == ("Behind", Reason.TARGET_AHEAD(1))


@pytest.fixture
def tables(tmp_path: Path) -> TableStore:
    found = TableStore(f"{tmp_path}/tables")
    found.create(tests_storage=False)
    return found


def test_only_a_living_driver_is_read_and_then_followed(tables: TableStore, tmp_path: Path) -> None:
    places = {"root": f"{tmp_path}/tables", "checkpoints": f"{tmp_path}/checkpoints"}
    config, site = config_of(["X", "Y"], tables=places), moved("X0:10", "X0:10", 4)
    site.commit("X", "g", 5)
    site.reconcile()
    tables.append(OFFSET_TRANSLATIONS, to_rows(site.reconciliations[0], np.array([0]), site.offsets.keys, config))
    now_ms, verdicts = site.clock_ms[0], PublishedVerdicts(tables, config)
    assert verdicts.read(now_ms) is None
    lease = Lease(tables, JOB, threading.Event())
    lease.claim()
    beat(tables.files, config, lease.epoch, now_ms)
    assert [each["source_offset"] for each in (verdicts.read(now_ms) or pa.table({})).to_pylist()] == [5]
    site.commit("X", "g", 7)
    site.reconcile()
    tables.append(OFFSET_TRANSLATIONS, to_rows(site.reconciliations[-1], np.array([0]), site.offsets.keys, config))
    rows = verdicts.read(now_ms)
    assert rows is not None
    assert [[row["source_offset"] for row in each] for each in by_direction(rows, config).values()] == [[7]]
    assert verdicts.read(now_ms + int(FRESH_S * 1000) + 1) is None
    lease.end()
    assert verdicts.read(now_ms) is None
