"""Headline, the column move and the plan of a cutover: whatever a report says, no two of them contradict each other."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders.status_rows import NO_DRIFT, status_rows
from fakes.moves import FakeClusters, Move
from generators.hypothesis_strategies import law
from offset_sync.cutover.plan import GroupPlan, Mode, PartitionStatus
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import GroupPartition, State, Status
from offset_sync.status.assessment import TROUBLES, Verdict
from offset_sync.status.report import Report

ANSWERS = [state.name for state in State if not state.is_withheld]
REASONS = [state.name for state in State if state.is_withheld]
NOON = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)


def random_report(rng: random.Random) -> Any:
    """Rows as reports have them: facts that are the same for a whole group are, and others in any combination."""
    rows = []
    for group_id in "abcd"[: rng.randint(1, 4)]:
        active, elsewhere = rng.choice([False, False, False, True, None]), rng.choice([None, None, None, "Z"])
        of_group = {"group_id": group_id, "stream": "t", "is_target_active": active, "elsewhere": elsewhere}
        is_good = rng.random() < 0.5
        rows += [{"partition": n, **of_group, **random_row(rng, active, is_good)} for n in range(rng.randint(1, 3))]
    return status_rows(*rows)


def random_row(rng: random.Random, is_active: bool | None, is_good: bool) -> dict[str, Any]:
    words = [each.word for each in Status if each is not Status.TARGET_ACTIVE]
    status = "InSync" if is_good else rng.choice(words)
    if is_active and status != "Withheld":
        status = "TargetActive"
    if status == "InSync":
        return {"source_offset": 5, "mirror_lag_ms": rng.choice([0, 10**9])}
    is_known, not_mirrored = status != "Withheld" and rng.random() < 0.8, rng.choice([0, 0, 3])
    costs = {"duplicates": rng.choice([0, 0, 2]), "duplicates_at_most": rng.choice([0, 4])}
    costs["lost"] = not_mirrored + rng.choice([0, 0, 0, 2])
    return {
        "status": status,
        "reason": "so",
        "state": rng.choice(REASONS if status == "Withheld" else ANSWERS),
        "source_offset": 5,
        **(costs if is_known else dict.fromkeys(costs)),
        "not_mirrored": not_mirrored,
        "mirror_lag_ms": rng.choice([0, 10**9]),
        "staleness_ms": rng.choice([0, 10**9, None]),
    }


def plan_of(group_id: str, status: Any) -> GroupPlan:
    """Plan the move of a group, by the facts of the report and nothing else."""
    mine = [row for row in status if row["group_id"] == group_id]
    is_active = mine[0]["is_target_active"]
    rows = [PartitionStatus.of(row, GroupPartition(group_id, row["stream"], row["partition"]), None) for row in mine]
    site = FakeClusters([rows], there=ClusterError("Y", "silent") if is_active is None else [group_id] * is_active)
    (plan,) = Move(site).cutover.plan([group_id], Mode.PLANNED)
    return plan


@law(150)
@given(st.integers(0, 2**32))
def test_headline_column_and_plan_agree(seed: int) -> None:
    status = random_report(random.Random(seed))
    report = Report(status, NO_DRIFT, NOON).document
    groups = {row["group_id"]: row for row in report["groups"]}
    counted = [int(problem["text"].partition("partitions ")[2].split(",")[0]) for problem in report["problems"]]
    found = sum(row["trouble"] is not None for row in report["partitions"])
    assert sum(counted) == found, "each partition in trouble is counted once"
    healthy = report["healthy"]
    for group_id, row in groups.items():
        plan = plan_of(group_id, status)
        assert (plan.verdict is Verdict.NOW) == (row["move"] == "now"), (row, plan)
        assert (plan.verdict in (Verdict.BLOCKED, Verdict.UNKNOWN)) == (row["move"] == "no"), (row, plan)
        assert (plan.verdict is Verdict.BLOCKED) == bool(plan.blocking), plan
        if row["move"] == "now":
            assert (row["status"], row["lost"], row["duplicates_at_most"]) == ("InSync", 0, 0)
        if healthy:
            assert row["status"] not in ("Withheld", "Stalled")
            assert not row["skipped"]
        if row["status"] not in ("InSync", "TargetActive") or row["move"] == "no":
            assert row["reason"] or row["status"] == "InSync", row
    if all(row["move"] == "now" for row in groups.values()):
        assert healthy
    behind = sum(row["statuses"]["Behind"] for row in groups.values())
    if healthy and behind:
        assert f"partitions {behind}," in report["notes"][0]


def test_every_word_has_its_sentence() -> None:
    assert {*REASONS, *TROUBLES, *(f"IF_{each.name}" for each in Status)} <= {*Reason.__members__}
