"""The record index in memory: kept up, or begun from sealed files, it is that of all rows at once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_histories import HISTORIES, cuts, history, index_of, known
from builders.index_rows import add, begin, life, run
from builders.record_indexes import content, log_of, read_in_one
from fakes.sealed_tables import SealedInMemory
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, READ_AGAIN, RECORD_RUNS
from offset_sync.translate.partition_log import Incarnation


@law(60)
@given(HISTORIES, st.booleans(), st.booleans())
def test_kept_up_in_any_steps_or_begun_from_sealed_files_the_index_is_the_same(
    rng: random.Random, is_shuffled: bool, steps_back: bool
) -> None:
    tables, plain = SealedInMemory(), MemoryTables()
    kept_up, follower = index_of(plain), index_of(tables)
    rows, begun = history(rng, steps_back=steps_back), cuts(rng) if rng.random() < 0.6 else {}
    if is_shuffled:
        rng.shuffle(rows)
    for first in range(0, len(rows), 5):
        for each in (tables, plain):
            add(each, RECORD_RUNS, *rows[first : first + 5])
        if rng.random() < 0.5 and not (is_shuffled or steps_back):
            kept_up.refresh()
            tables.seal(rng.randrange(3))
            follower.refresh()
    sealed_first = rng.random() < 0.5
    for each in (tables, plain) if begun else ():
        if sealed_first:
            tables.seal(rng.randrange(1, 8))
        each.cut(begun)
    for _ in range(rng.randrange(1, 4)):
        tables.seal(rng.randrange(1, 8))
    if is_shuffled:  # else what is sealed may say that a batch begins before the one before it has ended
        tables.seal(len(rows))
    for index in (kept_up, follower, follower):  # it may have to read all of it once more
        index.refresh()
    assert known(index_of(tables)) == known(index_of(plain)) == known(kept_up) == known(follower)


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        (50, (0, 60, ["X", "", "X"], [0, 30, 50], [30, 20, 10], [0, 30, 50], [0, 0, 0])),
        *((first, (0, 60, ["X"], [0], [60], [0], [0])) for first in (0, 20, 30)),
    ],
)
def test_what_is_between_two_queries_counts_as_unread_by_all_groups(first: int, wanted: object) -> None:
    """The first one has read up to 30; the other one, with a new checkpoint, up to 60; what each has read is sealed."""
    tables = SealedInMemory()
    add(tables, RECORD_RUNS, begin(0), run(0, 30))
    kept_up = read_in_one(tables)
    add(tables, RECORD_RUNS, begin(first), run(first, 60 - first, origin_start=first))
    for versions in (0, 1, 1):
        tables.seal(versions)
        kept_up.refresh()
        assert content(kept_up) == content(read_in_one(tables)) == wanted


@pytest.mark.parametrize(("number", "voids"), [(3, 1), (9, 0)])
def test_sealing_voids_the_bounds_of_a_log_with_late_records_only(number: int, voids: int) -> None:
    tables = SealedInMemory()
    add(tables, RECORD_RUNS, begin(0), run(0, 5, "X", 4), run(5, 1, "X", number))
    index = read_in_one(tables)
    tables.seal(1)
    index.refresh()
    assert index.rebuilt(TopicPartition("orders", 0)) == voids


def test_a_cut_that_is_recorded_while_the_runs_are_read_counts_with_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it has taken is still among these: the log is withheld. So is one that is noticed and not cut yet."""
    tables, log = MemoryTables(), ClusterPartition("Y", "orders", 0)
    add(tables, RECORD_RUNS, begin(0), run(0, 10, "Y"))
    add(tables, LOG_INCARNATIONS, life("Y", 0, 1, "ELECTED"))
    index, rows_since = read_in_one(tables), tables.rows_since

    def meanwhile(table: Any, known: int | None) -> Any:
        monkeypatch.undo()
        tables.cut({log: Incarnation(6, 2, "id", is_recreated=False)})
        add(tables, LOG_INCARNATIONS, life("Y", 6, 2), life("Y", 6, 3, READ_AGAIN))
        return rows_since(table, known)

    def known(index: RecordIndex) -> tuple[int, bool, int]:
        return log_of(index).frontier, index.is_uncut(log), len(index.incarnations(log))

    monkeypatch.setattr(tables, "rows_since", meanwhile)
    index.refresh()
    assert known(index) == (10, True, 1)
    index.refresh()
    assert known(index) == known(read_in_one(tables)) == (6, False, 1)
    add(tables, LOG_INCARNATIONS, life("Y", 3, 4))
    index.refresh()
    assert known(index) == known(read_in_one(tables)) == (6, True, 2)
