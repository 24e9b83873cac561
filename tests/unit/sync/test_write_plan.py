"""From answers to writes: what a target is asked, what follows without asking, and what is called a rewind."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest

from fakes.target_cluster import write
from offset_sync.model.values import POLLED, GroupPartition, Outcome, State
from offset_sync.state.committed_offsets import ClusterOffsets, CommittedOffsets
from offset_sync.state.lease import OpenFence
from offset_sync.state.sync_state import Commits
from offset_sync.sync.distributed_writer import DistributedWriter
from offset_sync.sync.write_plan import Translated, WritePlan, plan_writes
from offset_sync.translate.partition import Translations

ROWS = 200
KINDS = ("actual", "genuine")
NUMBERS = ("actual_offset", "rewound_ms", "actual_made_ms", "actual_at_ms", "genuine_made_ms", "genuine_at_ms")
FLAGS = ("actual_is_own", "is_deleted")


def any_offsets(rng: np.random.Generator) -> CommittedOffsets:
    """Return what any two clusters may hold of ROWS keys, from so few values that they meet."""
    found = CommittedOffsets(["X", "Y"])
    found.ids([GroupPartition(f"g{number}", "orders", 3) for number in range(ROWS)])
    for cluster in found.clusters.values():
        columns = cluster.columns
        for name in NUMBERS:
            columns[name][:] = rng.integers(-1, 3, ROWS)
        for name in FLAGS:
            columns[name][:] = rng.random(ROWS) < 0.5
        columns["log_partition"][:] = np.where(rng.random(ROWS) < 0.3, POLLED, 0)
    return found


def row_of(cluster: ClusterOffsets, key: int) -> SimpleNamespace:
    since = {f"{kind}_since_ms": cluster.earliest_ms(kind, np.array([key])).item() for kind in KINDS}
    return SimpleNamespace(**{name: cluster.columns[name][key].item() for name in (*NUMBERS, *FLAGS)}, **since)


def stays_there(home: SimpleNamespace, there: SimpleNamespace, wanted: int, is_at_start: bool) -> bool:
    """True where the group's own word at the target may be newer, or only our own word at home would raise it."""
    if home.actual_is_own and wanted > there.actual_offset and (there.actual_offset >= 0 or is_at_start):
        return True
    if there.actual_offset < 0 or there.actual_is_own:
        return False
    if wanted > there.actual_offset:
        return there.actual_made_ms > max(home.actual_since_ms, home.genuine_since_ms)
    return there.actual_since_ms > max(home.actual_made_ms, home.genuine_made_ms)


def check_without(plan: WritePlan) -> None:
    left = plan.without(plan.rows[::2].tolist())
    assert (left.rows.tolist(), left.writes, left.state) == (plan.rows[1::2].tolist(), plan.writes[1::2], plan.state)
    assert plan.without(()) is plan


@pytest.mark.parametrize("is_decided", [False, True])
@pytest.mark.parametrize("asks_everything", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_each_row_is_planned_by_the_rules_for_one(seed: int, asks_everything: bool, is_decided: bool) -> None:
    rng = np.random.default_rng(seed)
    offsets, key = any_offsets(rng), rng.permutation(ROWS)
    source, target = offsets.clusters["X"], offsets.clusters["Y"]
    has_moved = rng.random(ROWS) < 0.1
    target.has_moved = lambda key: has_moved[key]  # type: ignore[method-assign]
    wanted, offset, answered, epoch = rng.integers(-1, 3, (4, ROWS))
    state = rng.choice([State.EXACT, State.EXACT, State.NOT_INDEXED, State.TOPIC_MISSING, State.TOPIC_RECREATED], ROWS)
    none = np.zeros(ROWS, np.int64)
    is_at_start = rng.random(ROWS) < 0.5
    answers = Translations(wanted, wanted, state.astype(np.intp), none, none, none, none > 0, is_at_start, none > 0)
    translated = Translated("X", "Y", Commits(key, offset, none), answers, answered, 0)
    plan = plan_writes(
        offsets, translated, epoch=epoch, refresh_before_ms=2, asks_everything=asks_everything, is_decided=is_decided
    )
    writes = dict(zip(plan.rows.tolist(), plan.writes, strict=True))
    check_without(plan)
    for n in range(ROWS):
        home, there, word = row_of(source, key[n]), row_of(target, key[n]), State(state[n])
        held = there.actual_offset
        is_gone = word in (State.TOPIC_MISSING, State.TOPIC_RECREATED) and home.is_deleted
        to = held if is_gone else int(wanted[n])
        is_free = is_decided or held < 0 or there.actual_is_own
        is_followed = not is_free and home.rewound_ms > there.actual_since_ms
        stays = not is_decided and stays_there(home, there, to, is_at_start[n])
        is_held = held == to and (is_gone or not word.is_withheld)
        refresh = is_held and there.actual_is_own and held >= 0 and there.actual_made_ms < 2
        is_backward = not is_held and (stays or (not is_free and not is_followed and to < held))
        is_open = (asks_everything or has_moved[key[n]]) and not stays
        is_asked = refresh or (not word.is_withheld and (is_open or not (is_held or is_backward)))
        went_back = is_followed or offset[n] < answered[n]
        is_rewind = went_back and home.rewound_ms >= 0 and to < held and not word.is_withheld and not is_backward
        assert State(plan.state[n]) is (State.REWIND if is_rewind else word)
        assert plan.previous[n] == held
        expected = (to, None if epoch[n] < 0 else epoch[n], None if held < 0 or is_backward else held, refresh)
        assert (n in writes) == is_asked
        if is_asked:
            asked = writes[n]
            found = (asked.offset, asked.leader_epoch, asked.expected_offset, asked.refresh)
            assert (asked.group_id, asked.topic, asked.partition, *found) == (f"g{key[n]}", "orders", 3, *expected)
        elif word.is_withheld:
            assert Outcome(plan.outcome[n]) is Outcome.WITHHELD
        else:
            assert Outcome(plan.outcome[n]) is (Outcome.NOT_FORWARD if is_backward else Outcome.UNCHANGED)


def test_another_number_of_outcomes_of_tasks_is_an_error_so_that_their_writes_are_in_doubt() -> None:
    spark = MagicMock()
    frame = spark.createDataFrame().repartition().mapInArrow()
    frame.toArrow.return_value = pa.table({"row": [], "outcome": []})
    with pytest.raises(ValueError, match="longer"):
        DistributedWriter(spark, MagicMock(), MagicMock(), OpenFence(), 1).write([write("a"), write("b")])
