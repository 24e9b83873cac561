"""The action ``cutover rehearse``: of one direction, or of all, as ``run`` does it daily."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence

from rich.console import Console

from offset_sync.config import Config
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.plan import Direction, Mode
from offset_sync.cutover.rehearsal import open_rehearsal, rehearse_groups, show_rehearsed
from offset_sync.cutover.session import open_cutover
from offset_sync.jobs.chosen_groups import chosen_groups, say
from offset_sync.jobs.open_tables import open_tables
from offset_sync.model.errors import ConfigError
from offset_sync.state.lease import Lease
from offset_sync.status.live_state import LiveState
from offset_sync.status.waiting import waiting

_ALL = (".*",)
_RECORDS = 200
"""So many are read of each partition on each side of a start."""


def rehearse(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Rehearse moves; return one line for each partition that is not as predicted.

    Without ``--from`` and ``--to`` all directions are rehearsed; what other options leave open, the configuration says.
    """
    settings = config.report.rehearse
    one = Direction(arguments.source, arguments.target)
    directions = [one] if arguments.source else [Direction(*pair) for pair in config.pairs()]
    patterns = arguments.groups or settings.groups or _ALL
    option = "--groups" if arguments.groups else "report.rehearse.groups"
    records = arguments.records or _RECORDS
    seconds = arguments.seconds or settings.timeout.total_seconds()
    failures = list[str]()
    with open_tables(config, "offset-sync cutover") as tables:
        with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
            live = LiveState(config, tables)
        lease = Lease(live.tables, "cutover", stop)
        for direction in directions:
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


def check_rehearsal(arguments: argparse.Namespace) -> None:
    """Raise ConfigError where the arguments do not fit each other."""
    if arguments.disaster:
        raise ConfigError(["rehearse reads both clusters: omit --disaster"])
    if (arguments.source is None) != (arguments.target is None):
        raise ConfigError(["rehearse takes --from and --to, or neither: all directions"])
