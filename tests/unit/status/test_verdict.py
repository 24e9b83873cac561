"""Headline, the column move and the plan of a cutover: whatever a report says, no two of them contradict each other."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fakes.moves import FakeClusters, Move
from generators.hypothesis_strategies import law
from offset_sync.cutover.plan import GroupPlan, Mode, to_statuses
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import State, Status
from offset_sync.status.assessment import Trouble, Verdict, troubles
from offset_sync.status.health import find_notes, find_problems
from offset_sync.status.report import GROUP, NO, NOW, roll_up
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

ANSWERS = [state.name for state in State if not state.is_withheld]
REASONS = [state.name for state in State if state.is_withheld]
NO_DRIFT = SYNC_DRIFT.arrow_schema.empty_table()


def random_report(rng: random.Random) -> pa.Table:
    """Rows as reports have them: facts that are the same for a whole group are, and others in any combination."""
    rows = []
    for group_id in "abcd"[: rng.randint(1, 4)]:
        is_active = rng.choice([False, False, False, True, None])
        elsewhere = rng.choice([None, None, None, "Z"])
        is_good = rng.random() < 0.5
        for partition in range(rng.randint(1, 3)):
            rows.append(random_row(rng, group_id, partition, is_active, elsewhere, is_good))
    return pa.Table.from_pylist(rows, SYNC_STATUS.arrow_schema)


def random_row(
    rng: random.Random, group_id: str, partition: int, is_active: bool | None, elsewhere: str | None, is_good: bool
) -> dict[str, Any]:
    words = ["InSync"] if is_good else [each.word for each in Status if each is not Status.TARGET_ACTIVE]
    status = rng.choice(words)
    if is_active and status != "Withheld":
        status = "TargetActive"
    is_withheld, is_in_sync = status == "Withheld", status == "InSync"
    is_known = is_in_sync or (not is_withheld and rng.random() < 0.8)
    not_mirrored = 0 if is_in_sync else rng.choice([0, 0, 3])
    return {
        "source_cluster": "X",
        "target_cluster": "Y",
        "group_id": group_id,
        "topic": "t",
        "stream": "t",
        "partition": partition,
        "status": status,
        "reason": None if is_in_sync else "so",
        "state": rng.choice(REASONS if is_withheld else ANSWERS),
        "source_offset": 5,
        "wanted_offset": None if is_withheld else 7,
        "target_offset": 7 if is_known else None,
        "duplicates": rng.choice([0, 0, 2]) * (not is_in_sync) if is_known else None,
        "duplicates_at_most": rng.choice([0, 4]) * (not is_in_sync) if is_known else None,
        "lost": not_mirrored + rng.choice([0, 0, 0, 2]) * (not is_in_sync) if is_known else None,
        "not_mirrored": not_mirrored,
        "mirror_lag_ms": rng.choice([0, 10**9]),
        "staleness_ms": 0 if is_in_sync else rng.choice([0, 10**9, None]),
        "is_target_active": is_active,
        "elsewhere": elsewhere,
    }


def plans_of(status: pa.Table) -> dict[str, GroupPlan]:
    """Plan the move of every group, by the facts of the report and nothing else."""
    rows = status.to_pylist()
    statuses: dict[str, list[Any]] = {}
    for each in to_statuses(status, "X", "Y"):
        statuses.setdefault(each.group_id, []).append(each)
    return {group_id: plan_of(group_id, rows, statuses[group_id]) for group_id in statuses}


def plan_of(group_id: str, rows: Sequence[Mapping[str, Any]], partitions: list[Any]) -> GroupPlan:
    mine = next(row for row in rows if row["group_id"] == group_id)
    there = ClusterError("Y", "silent") if mine["is_target_active"] is None else [group_id] * mine["is_target_active"]
    elsewhere = {group_id: [mine["elsewhere"]]} if mine["elsewhere"] else {}
    (plan,) = Move(FakeClusters([partitions], there=there, elsewhere=elsewhere)).cutover.plan([group_id], Mode.PLANNED)
    return plan


@law(150)
@given(st.integers(0, 2**32))
def test_headline_column_and_plan_agree(seed: int) -> None:
    status = random_report(random.Random(seed))
    groups = {row["group_id"]: row for row in roll_up(status, GROUP).to_pylist()}
    plans = plans_of(status)
    healthy = not find_problems(status, NO_DRIFT)
    for group_id, row in groups.items():
        plan = plans[group_id]
        assert (plan.verdict is Verdict.NOW) == (row["move"] == NOW), (row, plan)
        assert (plan.verdict in (Verdict.BLOCKED, Verdict.UNKNOWN)) == (row["move"] == NO), (row, plan)
        assert (plan.verdict is Verdict.BLOCKED) == bool(plan.blocking), plan
        if row["move"] == NOW:
            assert (row["status"], row["lost"], row["duplicates_at_most"]) == ("InSync", 0, 0)
        if healthy:
            assert row["status"] not in ("Withheld", "Stalled")
            assert not row["is_skipping"]
        if row["status"] not in ("InSync", "TargetActive") or row["move"] == NO:
            assert row["reason"] or row["status"] == "InSync", row
    if all(row["move"] == NOW for row in groups.values()):
        assert healthy
    behind = sum(row["Behind"] for row in groups.values())
    if healthy and behind:
        assert f"partitions {behind}," in find_notes(status)[0]


def test_every_word_has_its_sentence() -> None:
    troubles_ = [each.name for each in Trouble if each is not Trouble.NONE]
    assert {*REASONS, *troubles_, *(f"IF_{each.name}" for each in Status)} <= {*Reason.__members__}


@law(150)
@given(st.integers(0, 2**32))
def test_every_partition_in_trouble_is_counted_once_in_the_headline(seed: int) -> None:
    status = random_report(random.Random(seed))
    found = troubles(status)
    counted = [
        int(problem.text.partition("partitions ")[2].split(",")[0]) for problem in find_problems(status, NO_DRIFT)
    ]
    assert sum(counted) == (found != Trouble.NONE).sum()
