"""The command ``cutover``: plan, apply or verify the move of groups from one cluster to another."""

from __future__ import annotations

import argparse
import re
import sys
import threading
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import timedelta
from itertools import starmap

from rich.console import Console

from offset_sync.config import Config
from offset_sync.config.duration import parse_duration
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.plan import Direction, Mode, Options, print_plan
from offset_sync.cutover.rehearsal import open_rehearsal, rehearse_groups, show_rehearsed
from offset_sync.cutover.session import open_cutover
from offset_sync.jobs.runner import check_direction, open_tables
from offset_sync.model.errors import ConfigError
from offset_sync.model.text import escaped
from offset_sync.state.lease import FencedTables, Lease, held
from offset_sync.status.live_state import LiveState
from offset_sync.tables.files import files_of
from offset_sync.terminal.waiting import waiting

_MOST = 100_000
"""Records of a partition, on each side of a start, and seconds."""
_ACTIONS = (
    "plan: show the cost and what blocks a move; rehearse: compare the cost with the records of both clusters; "
    "apply: move; verify: compare both clusters"
)

_FLAGS = {
    "confirm-readers": "planned: clients that commit without members, or whose membership is unknown, are stopped",
    "confirm-internal": "planned: Kafka Streams applications have processed the records of their repartition topics",
    "leave-uncommitted": "commit nothing for partitions that a group never committed",
    "skip-read": "planned: move by read lists, while producers write at both clusters",
    "without-proof": "with --skip-read: move although no consumer has left a mark",
    "at-cost": "with --skip-read: move although records not on the lists are repeated",
}


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("action", choices=["plan", "rehearse", "apply", "verify"], help=_ACTIONS)
    parser.add_argument("--from", dest="source", metavar="CLUSTER", help="where the groups are now")
    parser.add_argument("--to", dest="target", metavar="CLUSTER", help="where they are moved to")
    parser.add_argument("--groups", nargs="+", metavar="PATTERN", help="regular expressions, each for a whole group id")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--planned", action="store_true", help="both clusters answer; nothing is lost or repeated")
    kind.add_argument("--disaster", action="store_true", help="the source is lost; works from the tables alone")
    parser.add_argument(
        "--timeout", type=_duration, default="10m", metavar="DURATION", help="longest wait for the index (default 10m)"
    )
    for flag, text in _FLAGS.items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    parser.add_argument(
        "--records", type=_count, metavar="N", help="rehearse: how many records to read on each side of a start (200)"
    )
    parser.add_argument(
        "--seconds", type=_count, metavar="S", help="rehearse: how long to read at most, for all groups together (60)"
    )
    return parser


def cutover(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Run the action of *arguments*; return one line per group or partition that is not moved or not ready."""
    _check(config, arguments)
    run = rehearse if arguments.action == "rehearse" else move
    with open_tables(config, "offset-sync cutover") as tables:
        # In a disaster the source is not queried, whether it answers or not: only the tables count for it.
        given_up = [arguments.source] if arguments.disaster else []
        with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
            live = LiveState(config, tables, given_up=given_up)
        return run(config, arguments, live, Lease(live.tables, "cutover", stop))


def move(config: Config, arguments: argparse.Namespace, live: LiveState, lease: Lease) -> Sequence[str]:
    """Plan, apply or verify a move."""
    mode = Mode.DISASTER if arguments.disaster else Mode.PLANNED
    direction = Direction(arguments.source, arguments.target)
    options = Options(
        arguments.confirm_readers,
        arguments.leave_uncommitted,
        arguments.skip_read,
        arguments.without_proof,
        arguments.at_cost,
        arguments.confirm_internal,
    )
    # One that was taken over records no home; others claim nothing.
    fenced = FencedTables(config.tables.root, lease, files_of(config), config.names)
    steps = fenced if arguments.action == "apply" else live.tables
    journal = TableJournal(steps, direction, mode, say, config.names)
    with open_cutover(config, live, direction, journal, lease, options) as (procedure, clusters):
        groups = chosen_groups(clusters.groups(), arguments.groups)
        if arguments.action == "plan":
            with waiting(f"clusters {', '.join(config.clusters)}"):
                plans = procedure.plan(groups, mode)
            print_plan(plans, direction, Console())
            return [f"{plan.group_id} may not be moved" for plan in plans if plan.blocking]
        if arguments.action == "verify":
            return procedure.verify(groups)
        # A lease per group: another command may move other groups at the same time.
        with ExitStack() as claimed:
            with waiting(f"claims of {len(groups)} groups in {config.tables.root}"):
                claimed.enter_context(held(lease, groups))
                lease.settle()
            return procedure.apply(groups, mode, arguments.timeout.total_seconds())


def rehearse(config: Config, arguments: argparse.Namespace, live: LiveState, lease: Lease) -> Sequence[str]:
    """Rehearse moves; return one line for each partition that is not as predicted.

    Without ``--from`` and ``--to`` all directions are rehearsed; what other options leave open, the configuration says.
    """
    settings = config.report.rehearse
    pairs = [(arguments.source, arguments.target)] if arguments.source else config.pairs()
    patterns = arguments.groups or settings.groups or (".*",)
    option = "--groups" if arguments.groups else "report.rehearse.groups"
    records = arguments.records or 200
    seconds = arguments.seconds or settings.timeout.total_seconds()
    failures = list[str]()
    for direction in starmap(Direction, pairs):
        journal = TableJournal(live.tables, direction, Mode.PLANNED, say, config.names)
        with open_cutover(config, live, direction, journal, lease) as (_, clusters):
            groups = chosen_groups(clusters.groups(), patterns, option=option)
            statuses = clusters.partition_statuses(groups)
            if arguments.source:
                statuses = {group_id: statuses.get(group_id, []) for group_id in groups}
            rehearsal = open_rehearsal(config, live, direction, records, seconds)
            with waiting(f"records of {', '.join(direction)}", total=len(statuses)) as wait:
                rehearsed = rehearse_groups(rehearsal, statuses, journal, wait.advance)
            failures += show_rehearsed(rehearsed, statuses, direction, Console(), config.names)
    return failures


def _check(config: Config, arguments: argparse.Namespace) -> None:
    is_rehearsal = arguments.action == "rehearse"
    if is_rehearsal and arguments.disaster:
        raise ConfigError(["rehearse reads both clusters: omit --disaster"])
    if is_rehearsal and (arguments.source is None) != (arguments.target is None):
        raise ConfigError(["rehearse takes --from and --to, or neither: all directions"])
    needed = {"--from": arguments.source, "--to": arguments.target, "--groups": arguments.groups}
    missing = [option for option, value in needed.items() if value is None]
    if missing and not is_rehearsal:
        raise ConfigError([f"{arguments.action} needs {', '.join(missing)}"])
    if arguments.source is not None:
        check_direction(config, arguments.source, arguments.target)
    if arguments.action == "apply" and not (arguments.planned or arguments.disaster):
        raise ConfigError(["apply needs --planned (both clusters answer) or --disaster (the source is lost)"])
    if arguments.skip_read and arguments.disaster:
        raise ConfigError(["--skip-read is for planned moves: in a disaster the read lists are at the target already"])
    if (arguments.without_proof or arguments.at_cost) and not arguments.skip_read:
        raise ConfigError(["--without-proof and --at-cost need --skip-read"])


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {_MOST:,}")
    return int(text)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def chosen_groups(known: Collection[str], patterns: Sequence[str], *, option: str = "--groups") -> list[str]:
    """Return the known groups that match; raises ConfigError where a pattern of *option* is invalid or matches none."""
    chosen: set[str] = set()
    problems = []
    for pattern in patterns:
        try:
            found = {group_id for group_id in known if re.fullmatch(pattern, group_id)}
        except re.error as error:
            problems.append(f"{option} {pattern!a} is not a regular expression: {error}")
            continue
        if not found:
            problems.append(f"{option} {pattern!a} matches none of the {len(known)} groups in the tables")
        chosen |= found
    if problems:
        raise ConfigError(problems)
    return sorted(chosen)


def say(line: str) -> None:
    """Print a line on standard error; names in it cannot move the cursor."""
    print(escaped(line), file=sys.stderr, flush=True)
