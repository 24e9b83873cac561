"""A new driver that has read the tables knows what the old one knew, and goes on as if nothing had happened."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fakes.driver import GROUPS, MINUTES_MS, Driver, differences, driver, known, live, read_to_the_end
from fakes.reconciler_site import ORDERS, Site
from offset_sync.model.values import Outcome, State
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_translations import IS_HELD
from offset_sync.state.restore import (
    restore_answers,
    restore_commits,
)
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

LATE = "late"
KEY = ("group_id", "topic", "partition")


def answered(made: Site) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What was last answered, where anything was; that a value is present is the same as that it was written.

    Of the states only a reason to withhold is compared: the history calls an answer REWIND, whatever it was besides.
    """
    found = {}
    for pair in made.state.last_translations:
        columns = made.state.last(*pair).columns
        for row, key in enumerate(made.offsets.keys):
            outcome = int(columns["outcome"][row])
            names = ("source_offset", "source_at_ms", "wanted", "duplicates", "duplicates_at_most", "lost")
            if outcome >= 0:
                state = State(columns["state"][row])
                held = "held" if IS_HELD[outcome] else Outcome(outcome).name
                numbers = [int(columns[name][row]) for name in names]
                found[(*pair, key)] = (*numbers, state if state.is_withheld else "answered", held)
    return found


def restarted(made: Driver, tables: TableStore) -> Driver:
    """Write down what the old driver wrote and start a new one from it, with the same clusters around it."""
    for table in (OFFSET_COMMITS, OFFSET_TRANSLATIONS):
        tables.append(table, made.written.all_rows(table))
    fresh = driver()
    fresh.clusters, fresh.clock_ms[:] = made.clusters, made.clock_ms
    fresh.position = dict(made.position)
    fresh.is_ready.set()
    restore_commits(tables, fresh.state, CommitLogIncarnations(tables))
    restore_answers(tables, fresh.state)
    return fresh


def with_dry_runs(made: Driver) -> None:
    """Add what a dry run would have answered last."""
    rows = made.written.all_rows(OFFSET_TRANSLATIONS)
    dry = rows.set_column(
        rows.schema.get_field_index("outcome"), "outcome", pa.array([Outcome.DRY_RUN.name] * len(rows))
    )
    later = pa.array([made.clock_ms[0] + 1] * len(rows), pa.timestamp("ms", "UTC"))
    dry = dry.set_column(rows.schema.get_field_index("translated_at"), "translated_at", later)
    wrong = pa.array(np.full(len(rows), 7))
    made.written.append(
        OFFSET_TRANSLATIONS, dry.set_column(rows.schema.get_field_index("target_offset"), "target_offset", wrong)
    )


@pytest.fixture(scope="module")
def lived() -> Driver:
    """A driver after a long life; what it wrote last, for the group *late*, it has not read back."""
    made = driver()
    live(made, random.Random(5), 1500)
    read_to_the_end(made)
    made.pass_time(2 * MINUTES_MS)
    made.commit("X", LATE, 4, metadata="of the client")
    made.ingest("X", 50)
    made.history.close()
    return made


def test_a_new_driver_knows_what_the_old_one_knew_and_goes_on_alike(lived: Driver, tables: TableStore) -> None:
    with_dry_runs(lived)
    before = {place: state for place, state in known(lived).items() if place[1][0] != LATE}
    answers_before = answered(lived)
    covered = {(state["is_deleted"], state["actual_is_own"], state["rewound_ms"] >= 0) for state in before.values()}
    assert len(covered) >= 5, "a life without deletions, rewinds or own commits proves nothing"
    fresh = restarted(lived, tables)
    assert differences({place: state for place, state in known(fresh).items() if place[1][0] != LATE}, before) == []
    assert differences(answered(fresh), answers_before) == []

    # What comes next is judged alike by both: what we wrote and never read, rewinds, resets to what we wrote.
    rng = random.Random(6)
    for group in GROUPS:
        for alias in "XYZ":
            held = lived.target_offset(alias, group)
            offset = rng.choice([0, 44, 20, 20 if held is None else held])
            lived.commit(alias, group, offset)
    for alias in "XYZ":
        fresh.position[alias] = lived.position[alias]
        assert {fresh.offsets.keys[key] for key in fresh.read(alias).tolist()} == {
            lived.offsets.keys[key] for key in lived.read(alias).tolist()
        }
    assert differences(known(fresh), known(lived)) == []
    for each in (fresh, lived):
        each.asked.clear()
        each.is_dry_run = True
        each.reconciler.reconcile_all()
    assert set(fresh.asked) == set(lived.asked)
    assert fresh.asked


def test_writes_at_a_cluster_whose_log_may_not_be_read_count_as_present_and_the_next_driver_continues(
    tables: TableStore,
) -> None:
    made = driver()
    made.is_ready.set()
    made.commit("X", "g", 10)
    made.ingest("X", 50)
    made.history.close()
    before = made.target_offset("Z", "g")
    assert before is not None
    fresh = restarted(made, tables)
    made.commit("X", "g", 20)
    fresh.read("X")
    assert fresh.reconciler.reconcile_all(is_first=True) == []
    assert fresh.target_offset("Z", "g") == before + 10
    assert ORDERS in {place for _, place in fresh.clusters["Z"].group_offsets}
