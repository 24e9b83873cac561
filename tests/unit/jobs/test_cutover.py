"""What the command cutover takes, chooses and prints, and in which order it claims, waits and moves."""

from __future__ import annotations

import argparse
import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from fakes.reconciler_site import config_of
from offset_sync.cutover.output import GroupResult, MoveResult
from offset_sync.cutover.plan import Activity, Direction, GroupPlan, Mode, PartitionStatus, Problem
from offset_sync.jobs import cutover
from offset_sync.jobs.cutover import add_arguments, chosen_groups
from offset_sync.jobs.cutover import cutover as cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.model.errors import ConfigError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import GroupPartition, State, Status
from offset_sync.state.lease import FencedTables
from tools.golden_output import expect


def parsed(words: str) -> argparse.Namespace:
    parser = add_arguments(job_arguments("cutover"))
    return parser.parse_args([*words.split(), "--conf", "x", "--groups", "billing"])


def test_patterns_are_for_whole_names_and_each_has_to_match_something() -> None:
    known = ["billing", "shipping", "ship.it", "reports"]
    assert chosen_groups(known, ["ship.*", "billing"]) == ["billing", "ship.it", "shipping"]
    with pytest.raises(ConfigError, match="'ship' matches none of the 4 groups"):
        chosen_groups(known, ["ship", ".*"])
    with pytest.raises(ConfigError, match=r"'\(' is not a regular expression"):
        chosen_groups(known, ["("])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("apply --from X --to Y", "apply needs --planned .* or --disaster"),
        ("plan --from X --to Q", "--to Q: not a direction of the configuration, which has X to Y"),
        ("rehearse --from X --to Y --disaster", "rehearse reads both clusters"),
        ("rehearse --from X", "rehearse takes --from and --to, or neither"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_started(words: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        cutover_groups(config_of(["X", "Y"], directions=[["X", "Y"]]), parsed(words), threading.Event())


ROW = PartitionStatus(GroupPartition("g", "orders", 0), Status.MIRRORING, "so", State.EXACT, 5, 7, 7, 2, 3, 3)
IDLE, BUSY = Activity.INACTIVE, Activity.ACTIVE
FREE = replace(ROW, status=Status.IN_SYNC, duplicates=0, lost=0, not_mirrored=0)
PLANS = [
    GroupPlan("free", IDLE, IDLE, [FREE]),
    GroupPlan("dear", IDLE, IDLE, [ROW, ROW], notes=[Reason.NOT_IN_SYNC("orders-0", "Mirroring", "so", 2)]),
    GroupPlan("[red]busy\x1b", BUSY, IDLE, blocking=[Problem("busy", Reason.HAS_MEMBERS("X"))]),
]
COUNTS = dict.fromkeys(("partitions", "rehearsed", "records", "predicted", "repeats", "lost", "undecided"), 1)
LEFT = Problem("g", Reason.LOSES_MORE(1, 0), "orders-0", Reason.IF_BEHIND())
GROUPS = {
    "plan": [*map(GroupResult.planned, PLANS)],
    "apply": [GroupResult.of_plan(PLANS[1], [LEFT])],
    "verify": [GroupResult("g", {}, [LEFT]), GroupResult("h", {}, ())],
    "rehearse": [GroupResult("g", COUNTS, [LEFT])],
}


@pytest.mark.parametrize("action", GROUPS)
def test_what_is_printed_is_in_the_json_that_the_schema_describes(action: str) -> None:
    notes = [Reason.DECIDED_HERE()] if action == "plan" else []
    answer = MoveResult(action, Direction("X", "Y"), Mode.PLANNED, GROUPS[action], notes)
    document = json.loads(answer.to_json())
    schema = json.loads((Path(__file__).parents[3] / "docs" / "cutover.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert document["ok"] is (answer.failures == [])
    out = io.StringIO()
    answer.print(Console(file=out, width=80))
    told = "\n".join([out.getvalue(), *answer.failures, json.dumps(document, indent=2)])
    expect(f"cutover-{action}.txt", told)


class NotedLease:
    """Notes when it is claimed and when the driver before is waited for."""

    def __init__(self, noted: list[str]) -> None:
        self._noted = noted

    def settle(self) -> None:
        self._noted.append("waited for who wrote before")


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("apply", ["claimed billing", "waited for who wrote before", "moved billing", "given back"]),
        ("verify", ["verified billing"]),
    ],
)
def test_groups_are_claimed_and_who_wrote_before_is_waited_for_before_they_are_moved(
    monkeypatch: pytest.MonkeyPatch, action: str, expected: Sequence[str]
) -> None:
    noted = list[str]()
    lease = NotedLease(noted)

    @contextmanager
    def held(one: NotedLease, groups: Sequence[str]) -> Iterator[NotedLease]:
        assert one is lease
        noted.append(f"claimed {' '.join(groups)}")
        yield one
        noted.append("given back")

    def note(word: str) -> Any:
        return lambda groups, *_how: noted.append(f"{word} {' '.join(groups)}") or []

    def opened(*given: Any, decides: bool) -> Any:
        assert given[-1] is lease, "writes ask the lease that was claimed"
        assert isinstance(given[-2]._tables, FencedTables) is decides is (action == "apply"), "so do homes"
        noting = {"apply": lambda *how: ([], note("moved")(*how)), "verify": note("verified")}
        return SimpleNamespace(**noting), SimpleNamespace(groups=lambda: ["billing"])

    monkeypatch.setattr(cutover, "open_tables", lambda *_where: nullcontext(None))
    monkeypatch.setattr(
        cutover, "LiveState", lambda *_of, given_up: SimpleNamespace(tables=None, is_decided_here=False)
    )
    monkeypatch.setattr(cutover, "Lease", lambda *_of: lease)
    monkeypatch.setattr(cutover, "held", held)
    monkeypatch.setattr(cutover, "open_cutover", opened)
    arguments = parsed(f"{action} --from X --to Y --planned")
    assert cutover_groups(config_of(["X", "Y"]), arguments, threading.Event()) == []
    assert noted == expected
