"""Offsets that no group has committed: the answers of plain loops over records, and every reason to have none."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.kept_offsets import NoWait, kept, said, silent, site_of, translated, why
from fakes.reconciler_site import ORDERS, STARTED_MS, Site, config_of
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, State, TopicPartition
from offset_sync.status.kept_offsets import OffsetTranslation
from offset_sync.translate.index.incarnations import Incarnation
from oracles.translation import answers as brute_force


@law(60)
@given(st.integers(0, 2**32))
def test_every_answer_is_that_of_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    for each in random_cases(random_world(rng, steps=rng.choice((3, 20))), rng):
        if each.source is None:
            continue
        case = replace(each, now_ms=STARTED_MS)
        site = Site(config_of(["A", "B", "C", "D"], sync={"hole_grace": f"{case.hole_grace_ms}ms"}))
        for name in "ABCD":
            site.index.code(name)
        for where in (each.source, each.target):
            site.put(where)
            site.index.extend(where, ORDERS)
        offsets = list(range(each.source.log_end + 1))
        rng.shuffle(offsets)
        translation = OffsetTranslation(site.config, site.state, site, NoWait())
        pair = (each.source_cluster, each.target.cluster)
        found = translation.translate(pair, kept(*((ORDERS, offset) for offset in offsets)))
        # Where the index is behind, the record that fills a hole may be there unread, however old the hole is.
        is_behind = each.source.frontier < each.source.log_end
        now_ms, grace_ms = (0, 1) if is_behind else (STARTED_MS, case.hole_grace_ms)
        wanted = brute_force(replace(each, now_ms=now_ms, hole_grace_ms=grace_ms), offsets)
        is_late = each.target.records and min(r.offset for r in each.target.records) > each.target.log_start
        for row, answer in enumerate(wanted):
            if found.is_withheld[row]:
                assert is_late or State(found.state[row]) is State.NOT_INDEXED, (each, offsets[row])
                continue
            told = found.target_offset[row], found.duplicates[row], found.duplicates_at_most[row], found.lost[row]
            assert told == (answer.clamped_offset, answer.duplicates, answer.duplicates_at_most, answer.lost)
            assert found.state[row] == answer.state


@pytest.mark.parametrize(
    ("offset", "answer"),
    [(10, ("AT_FRONTIER", 10)), (11, ("COMMIT_BEYOND_END", ABSENT)), ((1 << 63) - 1, ("COMMIT_BEYOND_END", ABSENT))],
)
def test_an_offset_above_the_end_of_the_source_has_no_answer(offset: int, answer: tuple[str, int]) -> None:
    found = translated(site_of(), kept((ORDERS, offset)))
    assert said(found) == [answer]
    assert found.is_withheld.tolist() == [answer[1] == ABSENT]
    if answer[1] == ABSENT:
        assert "orders-0 ends at 10 at X" in why(found)


def test_a_topic_that_is_left_out_and_a_partition_that_is_not_there_are_told() -> None:
    site = site_of()
    found = translated(site, kept((TopicPartition("secret", 0), 0), (TopicPartition("orders", 1), 0), (ORDERS, 3)))
    assert said(found) == [("TOPIC_NOT_INCLUDED", ABSENT), ("PARTITION_MISSING", ABSENT), ("EXACT", 3)]
    assert [why(found, row) for row in (0, 1)] == [
        "topics.include does not match this topic; add it, and let index_records read the topic",
        "orders has 1 partition at X",
    ]


def begun_anew(site: Site, *, is_recreated: bool, begins_at: int = 0) -> int:
    """Let the source's log have another life, noticed a while ago; return when."""
    noticed_ms = STARTED_MS - 10 * CLOCKS_APART_MS
    topic_id = site.clusters["X"].topics["orders"].topic_id
    site.index.lives[ClusterPartition("X", *ORDERS)] = [Incarnation(begins_at, noticed_ms, topic_id, is_recreated)]
    return noticed_ms


@pytest.mark.parametrize("is_source_lost", [False, True])
@pytest.mark.parametrize(("is_recreated", "state"), [(True, "TOPIC_RECREATED"), (False, "LOG_TRUNCATED")])
def test_an_offset_that_may_be_of_a_former_life_needs_a_time_that_proves_otherwise(
    is_recreated: bool, state: str, is_source_lost: bool
) -> None:
    site = site_of()
    noticed_ms = begun_anew(site, is_recreated=is_recreated, begins_at=4)
    if is_source_lost:
        silent(site)
    offsets = ((ORDERS, 4), (ORDERS, 5))
    for taken_at_ms in (ABSENT, 0, noticed_ms, noticed_ms + CLOCKS_APART_MS):
        found = translated(site, kept(*offsets, taken_at_ms=taken_at_ms), is_source_lost=is_source_lost)
        assert said(found) == [("EXACT", 4), (state, ABSENT)]
        assert "--taken-at" in why(found, 1)
    found = translated(
        site, kept(*offsets, taken_at_ms=noticed_ms + CLOCKS_APART_MS + 1), is_source_lost=is_source_lost
    )
    assert said(found) == [("EXACT", 4), ("EXACT", 5)]
