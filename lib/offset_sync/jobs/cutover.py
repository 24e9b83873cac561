"""The command ``cutover``: plan, apply or verify the move of groups from one cluster to another."""

from __future__ import annotations

import argparse
import re
import threading
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import timedelta
from itertools import chain

from rich.console import Console

from offset_sync.config import Config
from offset_sync.config.duration import parse_duration
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.judge import Judge, by_group
from offset_sync.cutover.output import GroupResult, MoveResult
from offset_sync.cutover.plan import Direction, Mode, Options
from offset_sync.cutover.procedure import open_cutover
from offset_sync.cutover.rehearsal import open_rehearsal
from offset_sync.jobs.runner import check_direction, open_tables
from offset_sync.model.errors import ConfigError
from offset_sync.model.reasons import Reason, Said
from offset_sync.state.lease import FencedTables, Lease, held
from offset_sync.status.live_state import LiveState
from offset_sync.status.waiting import waiting
from offset_sync.tables.files import files_of

_MOST = 100_000
"""Records of a partition on each side of a start."""
_ACTIONS = (
    "plan: show the cost and what blocks a move; rehearse: compare the cost with the records of both clusters; "
    "apply: move; verify: compare both clusters"
)

_CONFIRMS = {
    "confirm-readers": (
        "planned: clients that commit without members, or whose membership is unknown, are stopped",
        (Reason.NOT_LISTED, Reason.READS_ALONE),
    ),
    "confirm-internal": (
        "planned: Kafka Streams applications have processed the records of their repartition topics",
        (Reason.HAS_INTERNAL,),
    ),
    "without-proof": ("with --skip-read: move although no consumer has left a mark", (Reason.NO_MARK,)),
    "at-cost": (
        "with --skip-read: move although records not on the lists are repeated",
        (Reason.NOT_ON_LIST, Reason.REPEATS),
    ),
}
"""Options, and which reasons not to move they take away."""


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("action", choices=["plan", "rehearse", "apply", "verify"], help=_ACTIONS)
    parser.add_argument("--from", dest="source", metavar="CLUSTER", help="where the groups are now")
    parser.add_argument("--to", dest="target", metavar="CLUSTER", help="where they are moved to")
    parser.add_argument("--groups", nargs="+", metavar="PATTERN", help="regular expressions, each for a whole group id")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--planned", action="store_true", help="both clusters answer; nothing is lost or repeated")
    kind.add_argument("--disaster", action="store_true", help="the source is lost; asks only the target")
    waits = "longest wait for the index; rehearse: for the records of a direction (default 10m)"
    parser.add_argument("--timeout", type=_duration, default="10m", metavar="DURATION", help=waits)
    for option, (text, reasons) in _CONFIRMS.items():
        words = [each.name for each in reasons]
        parser.add_argument(f"--{option}", action="append_const", dest="confirmed", const=words, default=[], help=text)
    lists = "planned: move by read lists, while producers write at both clusters"
    parser.add_argument("--skip-read", action="store_true", help=lists)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: docs/cutover.schema.json")
    each_side = "how many records to read on each side of a start (200)"
    parser.add_argument("--records", type=_count, default=200, metavar="N", help=f"rehearse: {each_side}")
    return parser


def cutover(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Run the action of *arguments*; return one line per group or partition that is not moved or not ready."""
    _check(config, arguments)
    run = rehearse if arguments.action == "rehearse" else move
    # A rehearsal without --from and --to is one of all directions.
    directions = [(arguments.source, arguments.target)] if arguments.source else config.pairs()
    with open_tables(config, "offset-sync cutover") as tables:
        # In a disaster the source is not queried, whether it answers or not: only the tables count for it.
        given_up = [arguments.source] if arguments.disaster else []
        with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
            live = LiveState(config, tables, given_up=given_up)
        failures, lease = list[str](), Lease(live.tables, "cutover", stop)
        for source, target in directions:
            answer = run(config, arguments, live, lease, Direction(source, target))
            failures += answer.failures
            if arguments.format == "json":
                print(answer.to_json(), flush=True)
            else:
                answer.print(Console())
        return failures


def move(
    config: Config, arguments: argparse.Namespace, live: LiveState, lease: Lease, direction: Direction
) -> MoveResult:
    """Plan, apply or verify a move."""
    action, mode = arguments.action, Mode.DISASTER if arguments.disaster else Mode.PLANNED
    options, is_applied = Options({*chain.from_iterable(arguments.confirmed)}, arguments.skip_read), action == "apply"
    # One that was taken over records no home; others claim nothing.
    steps = FencedTables(config.tables.root, lease, files_of(config), config.names) if is_applied else live.tables
    journal, judge = TableJournal(steps, direction, mode, config.names), Judge(direction, config.names, options)
    decides = is_applied or arguments.disaster
    procedure, clusters = open_cutover(config, live, judge, journal, lease, decides=decides)
    groups = chosen_groups(clusters.groups(), arguments.groups)
    if is_applied:
        # A lease per group: another command may move other groups at the same time.
        with ExitStack() as claimed:
            with waiting(f"claims of {len(groups)} groups in {config.tables.root}"):
                claimed.enter_context(held(lease, groups))
                lease.settle()
            plans, problems = procedure.apply(groups, mode, arguments.timeout.total_seconds())
        found = by_group(problems)
        answers = [GroupResult.of_plan(each, found.get(each.group_id, ())) for each in plans]
    else:
        with waiting(f"clusters {', '.join(config.clusters)}"):
            if action == "plan":
                answers = [GroupResult.planned(each) for each in procedure.plan(groups, mode)]
            else:
                found = by_group(procedure.verify(groups))
                answers = [GroupResult(each, {}, found.get(each, ())) for each in groups]
    return MoveResult(action, direction, mode, answers, () if decides else decided_here(live))


def rehearse(
    config: Config, arguments: argparse.Namespace, live: LiveState, lease: Lease, direction: Direction
) -> MoveResult:
    """Rehearse moves in one direction, by default of all groups."""
    judge = Judge(direction, config.names)
    journal = TableJournal(live.tables, direction, Mode.PLANNED, config.names)
    _, clusters = open_cutover(config, live, judge, journal, lease, decides=False)
    groups = chosen_groups(clusters.groups(), arguments.groups or (".*",))
    statuses = clusters.partition_statuses(groups)
    rehearsal = open_rehearsal(config, live, judge, journal, arguments.records, arguments.timeout.total_seconds())
    chosen = groups if arguments.source else [*statuses]
    with waiting(f"records of {', '.join(direction)}"):
        answers = [rehearsal.rehearse(group_id, statuses.get(group_id, ())) for group_id in chosen]
    return MoveResult("rehearse", direction, Mode.PLANNED, answers, decided_here(live))


def decided_here(live: LiveState) -> Sequence[Said]:
    """Return a note where no sync_offsets is alive."""
    return [Reason.DECIDED_HERE()] if live.is_decided_here else []


def _check(config: Config, arguments: argparse.Namespace) -> None:
    action, source, target = arguments.action, arguments.source, arguments.target
    needed = {"--from": source, "--to": target, "--groups": arguments.groups}
    missing, is_rehearsal = [option for option, value in needed.items() if value is None], action == "rehearse"
    wrong = {
        "rehearse reads both clusters: omit --disaster": is_rehearsal and arguments.disaster,
        "rehearse takes --from and --to, or neither: all directions": is_rehearsal and (not source) != (not target),
        f"{action} needs {', '.join(missing)}": missing and not is_rehearsal,
        "apply needs --planned (both clusters answer) or --disaster (the source is lost)": action == "apply"
        and not (arguments.planned or arguments.disaster),
        "--skip-read is for planned moves: in a disaster the read lists are at the target already": arguments.skip_read
        and arguments.disaster,
    }
    if problems := [text for text, holds in wrong.items() if holds]:
        raise ConfigError(problems)
    if source is not None:
        check_direction(config, source, target)


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {_MOST:,}")
    return int(text)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def chosen_groups(known: Collection[str], patterns: Sequence[str]) -> list[str]:
    """Return the known groups that match; raises ConfigError where a pattern is invalid or matches none."""
    chosen: set[str] = set()
    problems = []
    for pattern in patterns:
        try:
            found = {group_id for group_id in known if re.fullmatch(pattern, group_id)}
        except re.error as error:
            problems.append(f"--groups {pattern!a} is not a regular expression: {error}")
            continue
        if not found:
            why = f"matches none of the {len(known)} groups in the tables, as a regular expression"
            problems.append(f"--groups {pattern!a} {why}")
        chosen |= found
    if problems:
        raise ConfigError(problems)
    return sorted(chosen)
