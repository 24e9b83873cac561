"""What a report says of random logs, commits and positions, against plain loops over their records."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fakes.status_site import Row, site_of_case
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from oracles.status import Cost, Identity, cost, identity
from oracles.translation import Case, Log

Position = tuple[int, int]
"""Commit at the source, offset at the target."""
NUMBERS = ("duplicates", "duplicates_at_most", "lost", "not_mirrored", "mirror_lag")


def rows_of(case: Case, positions: list[Position]) -> list[tuple[Row, Cost]]:
    """What is reported of each position, with what brute force says."""
    rows = {
        int(row["group_id"]): row
        for row in site_of_case(case, positions).report(case.now_ms)
        if row["target_cluster"] == case.target.cluster
    }
    return [(rows[number], cost(case, *position)) for number, position in enumerate(positions)]


def cases_of(seed: int) -> list[tuple[Case, list[Position]]]:
    """A few pairs of logs of one history, with commits and positions, of which many are as the sync leaves them."""
    rng = random.Random(seed)
    found = []
    for each in random_cases(random_world(rng, steps=rng.choice((3, 10, 30))), rng):
        if each.source is not None and rng.random() < 0.5:
            case = calmed(each) if rng.random() < 0.5 else each
            assert case.source is not None
            ends = case.source.log_end, case.target.log_end
            positions = [(rng.randint(0, ends[0]), rng.randint(0, ends[1] + 2)) for _ in range(12)]
            positions += [(ends[0], position) for position in {0, case.target.log_start, ends[1]}]
            found.append((case, positions + reconciled(case)))
    return found


def calmed(case: Case) -> Case:
    """The same history when the mirror has brought what it will, and all is indexed."""
    assert case.source is not None
    source, target = case.source, case.target
    return replace(case, source=with_rest(source, target), target=with_rest(target, source))


def with_rest(log: Log, other: Log) -> Log:
    """*log* with the missing records of *other* at its end, except for its own."""
    known = {identity(record) for record in log.records} | {None}
    rest = {identity(r): r for r in other.records if identity(r) not in known and r.origin != log.cluster}
    added = tuple(replace(record, offset=log.log_end + number) for number, record in enumerate(rest.values()))
    end = log.log_end + len(rest)
    return replace(log, records=log.records + added, log_end=end, frontier=end)


def reconciled(case: Case) -> list[Position]:
    """Where the sync would put every group."""
    assert case.source is not None
    site = site_of_case(case, [(committed, 0) for committed in range(case.source.log_end + 1)])
    rows = site.report(case.now_ms)
    return [
        (row["source_offset"], row["wanted_offset"])
        for row in rows
        if row["target_cluster"] == case.target.cluster and row["wanted_offset"] is not None
    ]


@law(60)
@given(st.integers(0, 2**32))
def test_every_number_of_a_report_is_its_definition_and_in_sync_is_said_where_moving_costs_nothing(seed: int) -> None:
    for case, positions in cases_of(seed):
        for row, expected in rows_of(case, positions):
            told = {name: row[name] for name in NUMBERS}
            wanted = {name: getattr(expected, name) for name in NUMBERS}
            if not case.target.log_start <= row["target_offset"] <= case.target.log_end:
                wanted |= dict.fromkeys(("duplicates", "duplicates_at_most", "lost"))
            assert told == wanted, (case, row)
            assert (row["status"] == "InSync") == expected.is_in_sync, (case, row, expected)
            if row["status"] == "InSync":
                sees_all_that_it_has_not_read_and_nothing_twice(case, row)


def sees_all_that_it_has_not_read_and_nothing_twice(case: Case, row: Row) -> None:
    """This holds for a group that moves now."""
    assert case.source is not None
    read, left = split(case.source, row["source_offset"])
    below, ahead = split(case.target, row["target_offset"])
    assert left - read <= ahead, (case, row)
    assert not read & ahead, (case, row)
    # Later records come after its position.
    newest = max((offset for origin, offset in below | ahead if origin == case.source_cluster), default=-1)
    own = {offset for origin, offset in read if origin == case.source_cluster}
    assert all(offset <= newest for offset in own), (case, row)


def split(log: Log, offset: int) -> tuple[set[Identity], set[Identity]]:
    """The records below *offset*, and those from it on that a consumer can still read."""
    below = {(r.origin, r.origin_offset) for r in log.records if r.offset < offset}
    return below, {(r.origin, r.origin_offset) for r in log.records if r.offset >= max(offset, log.log_start)}


def test_random_histories_reach_both_answers_in_every_way() -> None:
    told: Counter[tuple[str, str]] = Counter()
    for seed in range(8):
        for case, positions in cases_of(seed):
            for row, _ in rows_of(case, positions):
                has_unread = "records left" if row["source_lag"] else "all read"
                told[row["status"], has_unread] += 1
    words = {word for word, _ in told}
    assert words == {"InSync", "Mirroring", "Behind"}
    assert min(told["InSync", left] for left in ("records left", "all read")) > 12
