"""May a partition be translated at all? Every reason not to, and which one is named."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, EpochEnd, State
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition import withhold_all
from offset_sync.translate.partition_log import (
    GivenOffsets,
    Incarnation,
    PartitionLog,
    PartitionMetadata,
    last_known,
    of_former_incarnations,
    of_lost_records,
    reason_to_withhold,
)

INDEX = LogIndex()
SOUND = PartitionMetadata("id", 0, 100, frozenset({"id"}), 100)
RECREATED, CUT = State.TOPIC_RECREATED, State.LOG_TRUNCATED


def reason(
    source: PartitionMetadata = SOUND,
    target: PartitionMetadata = SOUND,
    here: LogIndex = INDEX,
    there: LogIndex = INDEX,
) -> State | None:
    return reason_to_withhold(PartitionLog(here, 0, source), PartitionLog(there, 1, target))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"topic_id": None}, State.TOPIC_MISSING),
        ({"topic_id": None, "is_refused": True}, State.TOPIC_UNAUTHORIZED),
        ({"topic_id": "another"}, RECREATED),
        ({"indexed_ids": frozenset({"id", "another"})}, RECREATED),
        ({"frontier": 101}, CUT),
        ({"log_end": 99}, CUT),
        ({"is_missing": True}, State.PARTITIONS_DIFFER),
        ({"is_cut_somewhere": True}, CUT),
    ],
)
def test_a_reason_on_either_side_withholds(changed: dict[str, object], expected: State) -> None:
    unsound = SOUND._replace(**changed)  # type: ignore[arg-type]
    assert reason(source=unsound) is reason(target=unsound) is expected


def test_two_records_at_one_offset_on_either_side_withhold_the_log() -> None:
    broken = LogIndex()
    for number in (0, 5):
        broken.extend(Runs.of([0], [10], [0], [number], [0]), 10)
    late = LogIndex()
    for at in (3, 1):  # where all had been read and found empty
        late.extend(Runs.of([at], [1], [0], [at], [0]), 4)
    assert reason(here=late) is CUT
    assert reason(here=broken) is reason(there=broken) is reason(last_known({"id"}), here=broken) is CUT


def test_what_nobody_has_is_missing_and_an_empty_target_or_a_silent_source_of_one_life_is_sound() -> None:
    missing, bare = SOUND._replace(is_missing=True, log_end=0, frontier=0), SOUND._replace(frontier=0)
    assert reason(source=missing, target=missing) is State.PARTITION_MISSING
    for target, expected in (
        (bare, State.NOT_INDEXED),
        (bare._replace(log_start=100), None),
        (bare._replace(log_end=0), None),
    ):
        assert reason_to_withhold(PartitionLog(INDEX, 0, SOUND), PartitionLog.of(None, 1, target)) is expected
    assert reason(target=SOUND._replace(cut_at=3, log_end=3)) is None
    silent = last_known(set())
    assert (silent.topic_id, silent.log_start, reason(source=silent)) == ("", 0, None)
    assert reason(source=last_known({"id", "another"})) is RECREATED


# Commits of a partition that is withheld, and offsets of records that are gone


@pytest.mark.parametrize(
    ("told", "said", "expected"),
    [
        (State.CLUSTER_UNREACHABLE, None, [State.CLUSTER_UNREACHABLE] * 3),
        (State.NOT_INDEXED, SOUND, [State.NOT_INDEXED, State.NOT_INDEXED, State.COMMIT_BEYOND_END]),
        (CUT, SOUND, [CUT] * 3),
        (State.NOT_INDEXED, SOUND._replace(cut_at=3), [CUT] * 3),
        (State.NOT_INDEXED, SOUND._replace(topic_id="another"), [RECREATED] * 3),
        (State.NOT_INDEXED, SOUND._replace(topic_id=None), [State.NOT_INDEXED] * 3),
    ],
)
def test_what_only_the_source_can_show_comes_before_the_reason(
    told: State, said: PartitionMetadata | None, expected: list[State]
) -> None:
    assert withhold_all(told, np.array([3, 100, 101]), said).state.tolist() == expected


def given(*rows: tuple[int, int, int, str | None]) -> GivenOffsets:
    offset, at_ms, epoch, topic_ids = zip(*rows)
    return GivenOffsets(np.array(offset), np.array(at_ms), np.array(epoch), topic_ids)


def test_an_offset_above_where_a_log_began_again_is_withheld_unless_it_is_later_or_names_the_new_topic() -> None:
    noticed_ms = 10 * CLOCKS_APART_MS
    last_ms = noticed_ms + CLOCKS_APART_MS
    offsets = given(
        (5, 0, 0, None), (6, last_ms, 0, None), (6, last_ms + 1, 0, None), (6, 0, 0, "new"), (6, 0, 0, "old")
    )
    for is_recreated, expected in (
        (True, [ABSENT, RECREATED, ABSENT, ABSENT, RECREATED]),
        (False, [ABSENT, CUT, ABSENT, CUT, CUT]),
    ):
        found = of_former_incarnations(offsets, [Incarnation(5, noticed_ms, "new", is_recreated=is_recreated)])
        assert found.tolist() == expected


def test_an_offset_whose_last_record_an_election_has_taken_is_withheld() -> None:
    offsets = given((10, 0, 1, None), (9, 0, 1, None), (10, 0, 2, None), (10, 0, ABSENT, None))
    assert of_lost_records(offsets, [EpochEnd(2, 9)]).tolist() == [CUT, ABSENT, ABSENT, ABSENT]
