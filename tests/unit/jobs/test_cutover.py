"""What the command cutover takes, chooses and prints, and in which order it claims, waits and moves."""

from __future__ import annotations

import argparse
import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from fakes.reconciler_site import config_of
from offset_sync.cutover.plan import Activity, Direction, GroupPlan, PartitionStatus, print_plan
from offset_sync.jobs import cutover
from offset_sync.jobs.cutover import add_arguments, chosen_groups
from offset_sync.jobs.cutover import cutover as cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.model.errors import ConfigError
from offset_sync.model.values import State, Status, TopicPartition
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


def test_a_plan_is_a_line_per_group_and_the_reasons_below() -> None:
    row = PartitionStatus("g", TopicPartition("orders", 0), Status.MIRRORING, "so", State.EXACT, 5, 7, 7, 2, 3, 3)
    idle, busy = Activity.INACTIVE, Activity.ACTIVE
    plans = [
        GroupPlan("free", idle, idle, [replace(row, status=Status.IN_SYNC, duplicates=0, lost=0, not_mirrored=0)]),
        GroupPlan("dear", idle, idle, [row, row], notes=["orders-0 is Mirroring: so"]),
        GroupPlan("[red]busy\x1b", busy, idle, [], ["it has members at X; stop them there first"]),
    ]
    out = io.StringIO()
    print_plan(plans, Direction("X", "Y"), Console(file=out, width=80))
    expect("cutover.txt", out.getvalue())


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

    def opened(*given: Any) -> Any:
        assert given[-2] is lease, "writes ask the lease that was claimed"
        assert isinstance(given[-3]._tables, FencedTables) is (action == "apply"), "so does what records a home"
        procedure = SimpleNamespace(apply=note("moved"), verify=note("verified"))
        return nullcontext((procedure, SimpleNamespace(groups=lambda: ["billing"])))

    monkeypatch.setattr(cutover, "open_tables", lambda *_where: nullcontext(None))
    monkeypatch.setattr(cutover, "LiveState", lambda *_of, given_up: SimpleNamespace(tables=None))
    monkeypatch.setattr(cutover, "Lease", lambda *_of: lease)
    monkeypatch.setattr(cutover, "held", held)
    monkeypatch.setattr(cutover, "open_cutover", opened)
    arguments = parsed(f"{action} --from X --to Y --planned")
    assert cutover_groups(config_of(["X", "Y"]), arguments, threading.Event()) == []
    assert noted == expected
