"""Read lists against brute force by identities and by contents: nothing unread is on one, and all that is known is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import NOW_MS, indexed_at, log
from fakes.pages import CountedPages, KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import cases, generators, histories, law
from offset_sync.model.values import ABSENT
from offset_sync.translate import read_list as read_lists
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.read_list import FoundList, count_listed, pending, read_list
from offset_sync.translate.replication_gap import OffsetRanges
from oracles.read_list import identity_of, missing_at_target, offsets_in, on_the_list, ranges_of, what_is_read
from oracles.translation import Case
from oracles.translation_check import describe, every_commit, growing, logs_of, origin_codes

EPOCH = 7
X, Y, Z = 0, 1, 2


def ranges(found: FoundList) -> list[tuple[int, int]]:
    told = found.read_list.ranges
    return [(start, start + length) for start, length in zip(told.start.tolist(), told.length.tolist())]


def logs_at_any_time(
    case: Case, rng: random.Random, page_runs: int | None
) -> Iterator[tuple[Case, PartitionLog, PartitionLog]]:
    """Yield the case as far as it is indexed, after each batch, and both logs; of pages let go as the indexes grow."""
    for known, source, target in growing(case, rng, page_runs):
        yield known, *logs_of(known, source, target)


@law(700)
@given(cases, generators, st.none() | st.integers(1, 5))
def test_on_a_list_is_what_brute_force_finds_at_any_time_also_where_pages_were_let_go(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        records = {each.offset for each in known.target.indexed}
        for committed in every_commit(known):
            start = rng.choice((0, rng.randint(0, known.target.frontier + 2)))
            found = read_list(committed, start, source, target, leader_epoch=EPOCH)
            wanted = on_the_list(known, committed, start)
            assert ranges(found) == ranges_of(wanted, records), describe(known)
            assert (int(found.records.sum()), found.left_out) == (len(wanted), 0)
            assert (found.read_list.start, found.read_list.leader_epoch) == (start, EPOCH)
            assert found.read_list.end == (ranges(found)[-1][1] if wanted else start)


@law(250)
@given(histories())
def test_no_record_that_the_group_has_not_read_is_on_a_list_whatever_the_indexes_do_not_know(case: Case) -> None:
    records = {each.offset: identity_of(each) for each in case.target.records}
    *_, (_, source, target) = growing(case)
    for committed in every_commit(case):
        found = read_list(committed, 0, *logs_of(case, source, target), leader_epoch=EPOCH)
        read = set(what_is_read(case, committed))
        assert all(records[offset] in read for offset in offsets_in(ranges(found)) & records.keys())


@law(300)
@given(cases, generators, st.none() | st.integers(1, 4))
def test_records_that_consumers_skip_by_a_list_are_counted_as_what_is_on_it(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        first, committed = sorted(rng.sample(every_commit(known), 2))
        low, high = sorted(rng.randint(0, known.target.frontier + 2) for _ in range(2))
        skipped = OffsetRanges(np.array([first]), np.array([committed - first]))
        wanted = set(on_the_list(known, committed, low)) - set(on_the_list(known, first, low))
        assert count_listed(skipped, (low, high), source, target) == sum(offset < high for offset in wanted)


# One rule each, by hand


def test_what_the_mirror_dropped_is_not_on_the_list() -> None:
    case = Case("X", log("X", "X0 Y0 X2 Y2 X4"), log("Y", "Y0:3 X0 X2 X4"), NOW_MS, 0)
    *_, (_, here, there) = growing(case)
    assert ranges(read_list(4, 0, *logs_of(case, here, there), leader_epoch=EPOCH)) == [(0, 1), (2, 5)]


# Where there is no list


def everything(
    source: PartitionMetadata | None = None, target: PartitionMetadata | None = None
) -> tuple[PartitionLog, PartitionLog]:
    """Return two logs of which all is read by who has read five records."""
    said = PartitionMetadata("id", 0, 5, {"id"}, 5)
    logs = LogIndex(), LogIndex()
    for each in logs:
        each.extend(Runs.of([0], [5], [X], [0], [0]), 5)
    return PartitionLog(logs[0], X, source or said), PartitionLog(logs[1], Y, target or said)


def test_without_a_known_leader_epoch_there_is_no_list() -> None:
    assert ranges(read_list(5, 0, *everything(), leader_epoch=0)) == [(0, 5)]
    found = read_list(5, 2, *everything(), leader_epoch=ABSENT)
    assert (ranges(found), found.read_list.start, found.read_list.leader_epoch) == ([], 2, 0)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"topic_id": None}, {}),
        ({"topic_id": "another"}, {}),
        ({"cut_at": 3}, {}),
        ({"frontier": 6}, {}),
        ({"log_end": 4, "frontier": 4}, {}),
        ({"is_missing": True}, {}),
        ({}, {"topic_id": "another"}),
        ({}, {"cut_at": 3}),
        ({}, {"is_cut_somewhere": True}),
    ],
)
def test_of_logs_that_are_withheld_or_cut_and_of_a_commit_beyond_the_end_there_is_no_list(
    source: dict[str, object], target: dict[str, object]
) -> None:
    said = PartitionMetadata("id", 0, 5, {"id"}, 5)
    logs = everything(said._replace(**source), said._replace(**target))
    assert ranges(read_list(5, 0, *logs, leader_epoch=EPOCH)) == []


# How much is read and held


def test_no_more_ranges_are_held_than_a_text_can_hold_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_lists, "MOST_RANGES", 3)
    source, target = log("X", "X0:40"), log("Y", " ".join(f"X{n} X{n + 1} Y{3 * n // 2 + 2}" for n in range(0, 20, 2)))
    for page_runs in (None, 1, 2, 3):
        *_, (case, here, there) = growing(Case("X", source, target), None, page_runs)
        if page_runs:
            let_go_of_all_but(there, 1, page_runs, KeptPages())
        found = read_list(19, 0, *logs_of(case, here, there), leader_epoch=EPOCH)
        assert (ranges(found), found.records.tolist(), found.left_out) == ([(0, 2), (3, 5), (6, 8)], [2, 2, 2], 13)
        everything = OffsetRanges(np.array([0]), np.array([19]))
        assert count_listed(everything, (0, 99), *logs_of(case, here, there)) == 19


def test_only_pages_are_read_of_which_something_may_be_read_and_one_at_a_time() -> None:
    source, target, pages = LogIndex(), LogIndex(), CountedPages()
    order = np.arange(4_000)
    source.extend(Runs.of([0], [8_000], [X], [0], [0]), 8_000)
    number = order.copy()
    number[2_400:2_404] = 5  # sent again
    origin = np.where((order < 200) | (number == 5), X, np.where(order % 2, Y, Z))
    target.extend(
        Runs.of(2 * order, np.ones(4_000), origin, np.where(origin == X, number, 2 * order), order * 0), 8_000
    )
    let_go_of_all_but(target, 1, 10, pages)
    found = read_list(100, 0, PartitionLog(source, X), PartitionLog(target, Y), leader_epoch=EPOCH)
    assert ranges(found) == [(0, 199), (4_800, 4_807)]
    assert len(target.paged.pages) > 390
    assert pages.most == 1
    assert len(set(pages.asked)) <= 22


# What is still to come


def counts(found: Mapping[int, OffsetRanges]) -> dict[int, int]:
    return {origin: ranges.total for origin, ranges in found.items()}


@law(400)
@given(cases, generators, st.none() | st.integers(1, 4))
def test_what_is_still_to_come_is_what_brute_force_finds(case: Case, rng: random.Random, page_runs: int | None) -> None:
    codes = origin_codes(case)
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        for committed in every_commit(known):
            wanted = missing_at_target(known, committed, known.target.cluster)
            found = counts(pending(committed, source, target, known.now_ms - known.hole_grace_ms))
            assert found == {codes[origin]: count for origin, count in wanted.items()}, describe(known)


def test_what_the_mirror_has_just_passed_may_still_come() -> None:
    source, target = log("X", "X0:5"), indexed_at(log("Y", "X0 X2 X3:5"), 1, NOW_MS - 10)
    *_, (case, here, there) = growing(Case("X", source, target, NOW_MS, 60_000))
    logs = logs_of(case, here, there)
    code = origin_codes(case)["X"]
    (missing,) = pending(5, *logs, NOW_MS - 60_000).items()
    assert (missing[0], missing[1].start.tolist(), missing[1].length.tolist()) == (code, [1], [1])
    assert pending(5, *logs, NOW_MS - 10) == {}


def test_few_pages_tell_what_is_still_to_come() -> None:
    order = np.arange(6_000)
    logs, pages = (LogIndex(), LogIndex()), (KeptPages(), KeptPages())
    for index, kept, end in zip(logs, pages, (6_000, 2_900)):
        kind = order[:end] % 2
        index.extend(Runs.of(order[:end], np.ones(end), np.where(kind, X, Z), order[:end], order[:end]), end)
        let_go_of_all_but(index, 1, 10, kept)
    source, target = PartitionLog(logs[0], X), PartitionLog(logs[1], Y)
    assert counts(pending(2_950, source, target, 2_880)) == {X: 25, Z: 25}
    assert all(0 < len(set(kept.asked)) < 20 for kept in pages)
    assert counts(pending(2_950, replace(source, index=LogIndex()), target, 2_880)) == {UNKNOWN_ORIGIN: 2_950}
