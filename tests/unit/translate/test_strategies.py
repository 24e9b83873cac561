"""The strategies beside exact, against their definitions in plain loops; never later than t(c)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import law
from generators.mirrored_logs import World, write_logs
from offset_sync.model.values import ABSENT, State
from offset_sync.translate.exact import Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition import Translations, translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.strategies import answer_by_header, answer_by_timestamp
from oracles.translation import Case, Log, LogRecord, answers
from oracles.translation_check import growing, origin_codes

ONE_WAY = World(("A", "B"), ("A",), (("A", "B"),), 40, marker=0.2)
BOTH_WAYS = World(("A", "B"), ("A", "B"), (("A", "B"), ("B", "A")), 40, marker=0.2)
CODES = {"A": 0, "B": 1, "C": 2}


def logs_of(world: World, seed: int, spread: int, disorder: int) -> dict[str, Log]:
    """Logs whose records have the time of their origin offset, *spread* records to one, a few of them late."""
    rng = random.Random(seed)
    late: dict[tuple[str, int], int] = {}

    def timed(record: LogRecord) -> LogRecord:
        shift = late.setdefault((record.origin, record.origin_offset), rng.randint(0, disorder))
        return replace(record, timestamp_ms=1000 + record.origin_offset // spread - shift)

    found = {}
    for alias, log in write_logs(world, rng).items():
        records = tuple(timed(record) for record in log if record is not None)
        found[alias] = Log(alias, records, 0, len(log), len(log))
    return found


def times_of(log: Log) -> TimeIndex:
    times, stretches = TimeIndex(), list[tuple[int, int, int]]()
    for record in log.records:
        start, length, at_ms = stretches.pop() if stretches else (record.offset, 0, record.timestamp_ms)
        if (start + length, at_ms) == (record.offset, record.timestamp_ms):
            stretches.append((start, length + 1, at_ms))
        else:
            stretches += [(start, length, at_ms), (record.offset, 1, record.timestamp_ms)]
    for start, length, at_ms in stretches:
        times.extend(*(np.array([number]) for number in (start, length, at_ms, at_ms)))
    return times


def indexed(case: Case) -> tuple[LogIndex, LogIndex]:
    """Both indexes, with the timestamps; the codes are those of ``CODES`` where both clusters produce."""
    source, target = LogIndex(), LogIndex()
    for _, source_found, target_found in growing(case):
        source, target = source_found or source, target_found
    for index, log in ((source, case.source), (target, case.target)):
        index.times = times_of(log) if log is not None else None
    return source, target


def by_timestamp(source: Sequence[LogRecord], target: Sequence[LogRecord], committed: int, end: int) -> int:
    """The definition: the first record not older than the first unread one; the n-th of as many of one time."""
    if not source or not target:
        return target[0].offset if target else end
    unread = [record for record in source if record.offset >= committed]
    at_ms = (unread[0] if unread else source[-1]).timestamp_ms
    found = next((record for record in target if record.timestamp_ms >= at_ms), None)
    if found is None:
        return end
    here, there = ([record for record in log if record.timestamp_ms == at_ms] for log in (source, target))
    if found.timestamp_ms != at_ms or len(here) != len(there):
        return found.offset
    read = sum(record.offset < committed for record in here)
    return there[read].offset if read < len(there) else there[-1].offset + 1


def by_header(source: Sequence[LogRecord], committed: int, target: str, look_back: int) -> int:
    """The definition: the header of the record at the commit, else of the nearest one before it."""
    unread = [record for record in source if record.offset >= committed]
    if unread and unread[0].origin == target:
        return unread[0].origin_offset
    read = [record for record in source if record.offset < committed]
    near = [record for record in read[max(0, len(read) - look_back) :] if record.origin == target]
    return near[-1].origin_offset + 1 if near else ABSENT


@law(200)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 8]), st.sampled_from([0, 0, 2, 9]))
def test_timestamp_is_its_definition_and_loses_nothing_of_one_origin(seed: int, spread: int, disorder: int) -> None:
    logs = logs_of(replace(ONE_WAY, behind=0.5), seed, spread, disorder)
    source, target = logs["A"], logs["B"]
    committed = np.arange(source.log_end + 1)
    found = answer_by_timestamp(committed, times_of(source), times_of(target), target.log_end, is_checked=True)
    wanted = [by_timestamp(source.records, target.records, c, target.log_end) for c in committed.tolist()]
    assert found.offset.tolist() == wanted
    exact = answers(Case("A", source, target), committed.tolist())
    assert all(mine <= best.offset for mine, best in zip(found.offset.tolist(), exact))


def drawn(rng: random.Random, cluster: str) -> Log:
    """Up to five records with few times, in any order, and offsets left out."""
    kept = sorted(rng.sample(range(7), rng.choice((0, 1, 2, 3, 5))))
    records = tuple(LogRecord(offset, cluster, offset, rng.randint(1, 4)) for offset in kept)
    return Log(cluster, records, 0, 7, 7)


@pytest.mark.parametrize("seed", range(150))
def test_what_timestamp_may_repeat_is_counted_by_definition(seed: int) -> None:
    rng = random.Random(seed)
    source, target = drawn(rng, "A"), drawn(rng, "B")
    committed = np.arange(9)
    found = answer_by_timestamp(committed, times_of(source), times_of(target), 7, is_checked=True)
    assert found.offset.tolist() == [by_timestamp(source.records, target.records, c, 7) for c in range(9)]
    columns = found.offset, found.is_exact, found.duplicates, found.duplicates_at_most, found.is_disordered
    for c, answer, is_exact, repeats, most, is_disordered in zip(range(9), *(column.tolist() for column in columns)):
        read, unread = ([r for r in source.records if (r.offset < c) is side] for side in (True, False))
        if not source.records or not target.records:
            assert (is_exact, repeats, most) == (False, 0, 0)
            continue
        newest = max((r.timestamp_ms for r in read), default=0)
        assert is_disordered == (newest > (unread or source.records[-1:])[0].timestamp_ms)
        last = max((r.offset for r in target.records if r.timestamp_ms <= newest), default=-1)
        assert most == sum(answer <= r.offset <= last for r in target.records)
        at_ms = (unread or read[-1:])[0].timestamp_ms
        as_new = next((n for n, r in enumerate(read) if r.timestamp_ms >= at_ms), len(read))
        first = next((r for r in target.records if r.timestamp_ms >= at_ms), None)
        equal = [sum(r.timestamp_ms == at_ms for r in log.records) for log in (source, target)]
        is_placed = first is not None and first.timestamp_ms == at_ms and equal[0] == equal[1]
        assert repeats == (0 if is_placed or first is None else min(len(read) - as_new, most))
        assert is_exact == (first is not None and repeats == 0)


@pytest.mark.parametrize("is_checked", [True, False])
@pytest.mark.parametrize("seed", range(100))
def test_times_in_order_skip_nothing_also_where_a_stretch_hides_them(seed: int, is_checked: bool) -> None:
    rng = random.Random(seed)
    times = sorted(rng.choices(range(1, 5), k=rng.randint(1, 7)))
    copied = sorted(rng.sample(range(len(times)), rng.randint(1, len(times))))

    def merged(some: list[int]) -> TimeIndex:
        found = TimeIndex()
        while some:
            part, some = (some[: (n := rng.choice((1, 1, 2, 3)))], some[n:])
            found.extend(*(np.array([each]) for each in (int(sum(found.length)), len(part), part[0], part[-1])))
        return found

    committed = np.arange(len(times) + 1)
    here, there = merged(times), merged([times[n] for n in copied])
    found = answer_by_timestamp(committed, here, there, len(copied), is_checked=is_checked)
    assert all(answer <= sum(n < c for n in copied) for c, answer in enumerate(found.offset.tolist()))


@law(200)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 3, 1000]), st.sampled_from([None, 1, 2]))
def test_header_is_its_definition_and_loses_nothing_between_two_clusters(
    seed: int, look_back: int, page_runs: int | None
) -> None:
    logs = logs_of(replace(BOTH_WAYS, behind=0.3), seed, 1, 0)
    source, target = logs["A"], logs["B"]
    case = Case("A", source, target)
    index = indexed(case)[0]
    if page_runs:
        let_go_of_all_but(index, 1, page_runs, KeptPages())
    committed = np.arange(source.log_end + 1)
    found = answer_by_header(committed, index, target_origin=CODES["B"], look_back=look_back).tolist()
    alone = [answer_by_header(committed[[c]], index, target_origin=1, look_back=look_back)[0] for c in committed]
    assert found == alone == [by_header(source.records, c, "B", look_back) for c in committed.tolist()]
    exact = answers(case, committed.tolist())
    assert all(mine <= best.offset for mine, best in zip(found, exact))


# Chosen in a partition


def native(cluster: str, *times: int) -> Log:
    records = tuple(LogRecord(n, cluster, n, time) for n, time in enumerate(times))
    return Log(cluster, records, 0, len(times), len(times))


def copied(cluster: str, origin: str, *times: int) -> Log:
    records = tuple(LogRecord(n, origin, n, time) for n, time in enumerate(times))
    return Log(cluster, records, 0, len(times), len(times))


def chosen(
    case: Case,
    name: str,
    *committed: int,
    idle_since_ms: int = -1,
    source_start: int = 0,
    log_start: int = 0,
    cut_at: int | None = None,
) -> Translations:
    """Translate as a pass does; nothing is idle unless *idle_since_ms* says so. The target is cut, or has a start."""
    source, target = indexed(case)
    codes = origin_codes(case)
    logs = [
        PartitionLog(index, codes.get(log.cluster, 99), metadata_of(index, log.log_end, start)._replace(cut_at=cut))
        for log, index, start, cut in (
            (case.source, source, source_start, None),
            (case.target, target, log_start, cut_at),
        )
        if log is not None
    ]
    strategy = Strategy(name, 1000, idle_since_ms)
    return translate_partition(np.array(committed), [None] * len(committed), *logs, Bounds(10**15), strategy)


def metadata_of(index: LogIndex, log_end: int, log_start: int = 0) -> PartitionMetadata:
    return PartitionMetadata("id", log_start, log_end, frozenset({"id"}), index.frontier)


def states(found: Translations) -> list[str]:
    return [State(code).name for code in found.state.tolist()]


def test_a_mirror_without_headers_is_translated_by_timestamp() -> None:
    case = Case("A", native("A", 1, 2, 2, 4, 5), native("B", 1, 2, 2, 2, 4))
    found = chosen(case, "timestamp", 0, 1, 2, 3, 4, 5)
    # The 2 was sent again, so which of them is which cannot be told; 5 is not there yet.
    assert found.wanted.tolist() == [0, 1, 1, 4, 5, 5]
    assert states(found) == ["EXACT", "EXACT", "APPROXIMATE", "EXACT", "AT_FRONTIER", "AT_FRONTIER"]
    assert (found.duplicates.tolist()[2], found.duplicates_at_most.tolist()[2]) == (1, 3)
    assert not found.is_disordered.any()
    assert chosen(case, "timestamp", 4, 5, cut_at=2).wanted.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["timestamp", "header"])
def test_origins_that_a_strategy_cannot_bear_refuse_the_whole_topic(name: str) -> None:
    here = Log("A", (LogRecord(0, "A", 0, 1), LogRecord(1, "C", 0, 2)), 0, 2, 2)
    found = chosen(Case("A", here, copied("B", "A", 1)), name, 0, 1, 2)
    assert states(found) == ["STRATEGY_REFUSED"] * 3
    assert (found.wanted == -1).all()


def test_header_without_a_reference_waits_until_the_topic_is_idle() -> None:
    case = Case("A", native("A", 1, 2, 3), copied("B", "A", 1, 2, 3))
    assert states(chosen(case, "header", 2, 3)) == ["NO_REFERENCE"] * 2
    found = chosen(case, "header", 0, 2, 3, idle_since_ms=0)
    assert (states(found), found.wanted.tolist()) == (["EXACT", "NO_REFERENCE", "AT_FRONTIER"], [0, -1, 3])


def test_an_idle_topic_with_records_that_only_the_target_has_is_not_at_its_end() -> None:
    by_time = Case("A", native("A", 1, 2), native("B", 1, 2, 7))
    assert chosen(by_time, "timestamp", 2, idle_since_ms=0).wanted.tolist() == [1]
    for source in (copied("A", "B", 1, 2), native("A", 1, 2)):
        found = chosen(Case("A", source, native("B", 1, 2, 7)), "header", 2, idle_since_ms=0)
        assert (states(found), found.wanted.tolist()) == (["STRATEGY_REFUSED"], [-1])


def test_the_last_records_of_one_time_are_counted_off_only_where_headers_check_the_answer() -> None:
    assert chosen(Case("A", native("A", 6, 6), native("B", 6, 6)), "timestamp", 1).wanted.tolist() == [0]
    assert chosen(Case("A", native("A", 6, 6, 7), native("B", 6, 6)), "timestamp", 1).wanted.tolist() == [1]
    assert chosen(Case("A", native("A", 6, 6), copied("B", "A", 6, 6)), "timestamp", 1).wanted.tolist() == [1]


def test_what_the_source_has_deleted_too_is_not_lost() -> None:
    case = Case("A", native("A", *range(7)), native("B", *range(7)))
    for start in range(7):
        found = chosen(case, "timestamp", 1, 5, source_start=start, log_start=4)
        assert found.lost.tolist() == [max(0, 4 - max(1, start)), 0]
    assert chosen(case, "timestamp", 3, source_start=4, log_start=4).lost.tolist() == [0]


def test_a_greater_timestamp_before_a_commit_is_told_also_where_it_is_withheld() -> None:
    found = chosen(Case("A", native("A", 1, 9, 3), native("B", 1, 9, 3)), "timestamp", 4)
    assert (states(found), found.is_disordered.tolist()) == (["COMMIT_BEYOND_END"], [True])


def test_an_answer_that_rests_on_what_is_below_an_index_is_withheld() -> None:
    for begins in itertools.product((0, 3), (0, 2, 3), (0, 4), (0, 4)):
        logs = []
        for code, (begin, log_start) in enumerate((begins[:2], begins[2:])):
            index, rows = LogIndex(begin), np.arange(begin, 8)
            index.extend(Runs.of(rows, rows * 0 + 1, rows * 0 + code, rows, rows * 0), 8)
            index.times = TimeIndex()
            index.times.extend(rows, rows * 0 + 1, rows, rows)
            logs.append(PartitionLog(index, code, metadata_of(index, 8, log_start)))
        committed = np.arange(8)
        found = translate_partition(committed, [None] * 8, *logs, Bounds(0), Strategy("timestamp", 1000, -1))
        is_below = (committed < begins[0]) & (begins[0] > begins[1])
        answer = np.maximum(np.maximum(committed, begins[0]), begins[2])
        is_below |= (answer <= begins[2]) & (begins[2] > begins[3])
        assert (found.state == State.NOT_INDEXED).tolist() == is_below.tolist(), begins


@pytest.mark.parametrize("there", [(), (1,), (3,), (1, 3), (3, 1)])
@pytest.mark.parametrize("here", [(), (1,), (2,), (2, 1), (4, 1)])
def test_a_topic_is_idle_where_the_target_has_nothing_newer(here: Sequence[int], there: Sequence[int]) -> None:
    case = Case("A", native("A", *here), native("B", *there))
    idle, busy = (chosen(case, "timestamp", len(here), idle_since_ms=since).wanted.tolist() for since in (0, -1))
    assert (idle == [len(there)]) == (not there or max(there) <= max(here, default=0))
    assert there or busy == [0]


@pytest.mark.parametrize("times", [(6, 6), (1, 2, 6, 6)])
def test_groups_at_the_end_of_an_idle_topic_are_moved_to_the_end_and_repeat_nothing(times: Sequence[int]) -> None:
    case, end = Case("A", native("A", *times), native("B", *times, 6)), len(times)
    busy, idle = (chosen(case, "timestamp", end, idle_since_ms=since) for since in (-1, 0))
    assert (busy.wanted.tolist(), busy.duplicates.tolist(), busy.duplicates_at_most.tolist()) == ([end - 2], [2], [3])
    assert (idle.wanted.tolist(), idle.duplicates.tolist(), idle.duplicates_at_most.tolist()) == ([end + 1], [0], [0])
    behind = replace(case, target=replace(case.target, log_end=end + 2))
    assert chosen(behind, "timestamp", end, idle_since_ms=0).wanted.tolist() == [end - 2]


def test_timestamp_is_refused_where_both_sides_produce_and_header_is_not() -> None:
    here = Log("A", (LogRecord(0, "A", 0, 1), LogRecord(1, "B", 0, 1)), 0, 2, 2)
    there = Log("B", (LogRecord(0, "B", 0, 1), LogRecord(1, "A", 0, 1)), 0, 2, 2)
    assert states(chosen(Case("A", here, there), "timestamp", 0, 1)) == ["STRATEGY_REFUSED"] * 2
    found = chosen(Case("A", here, there), "header", 0, 1, 2)
    assert (states(found), found.wanted.tolist()) == (["EXACT", "EXACT", "APPROXIMATE"], [0, 0, 1])


def test_what_retention_took_of_a_topic_without_headers_is_counted() -> None:
    case = Case("A", native("A", 1, 2, 3, 4), native("B", 1, 2, 3, 4))
    found = chosen(case, "timestamp", 1, log_start=3)
    assert (found.wanted.tolist(), found.lost.tolist()) == ([3], [2])
    case = Case("A", native("A", 1, 9, 3, 4), native("B", 1, 9, 3, 4))
    found = [chosen(case, "timestamp", 3, log_start=start) for start in (0, 2, 4)]
    columns = [(each.wanted[0], each.duplicates[0], each.duplicates_at_most[0], each.lost[0]) for each in found]
    assert columns == [(1, 2, 3, 0), (2, 1, 2, 0), (4, 0, 0, 1)]  # the 9, read out of order, is deleted first


@pytest.mark.parametrize("without", [{0}, {1}, {0, 1}])
def test_a_topic_of_which_times_are_not_known_is_idle_by_its_ends_alone(without: set[int]) -> None:
    logs, said = [], PartitionMetadata("id", 0, 2, frozenset({"id"}), 2)
    for code in (0, 1):
        index = LogIndex()
        index.extend(Runs.of([0], [2], [code], [0], [0]), 2)
        index.times = None if code in without else times_of(native("A", 1, 2))
        logs.append(PartitionLog(index, code, said))
    found = translate_partition(np.array([2]), [None], *logs, Bounds(0), Strategy("timestamp", 1000, 0))
    assert found.wanted.tolist() == [2]


def test_a_header_above_the_cut_of_its_target_is_answered_with_the_cut() -> None:
    found = chosen(Case("A", copied("A", "B", *range(10)), native("B", *range(10))), "header", 8, cut_at=4)
    assert (states(found), found.wanted.tolist()) == (["AT_FRONTIER"], [4])
