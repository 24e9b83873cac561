"""The command ``check``: is this installation able to run, seen from the machine on which it is typed."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from rich.console import Console

from offset_sync.config import Config
from offset_sync.config.cautions import cautions
from offset_sync.config.checkpoint_topics import checkpoint_topics
from offset_sync.config.problem import path_text
from offset_sync.jobs.checks.broker_settings import judge_settings
from offset_sync.jobs.checks.clocks import judge_clock
from offset_sync.jobs.checks.cluster_ids import ask_ids, judge_id, with_ids
from offset_sync.jobs.checks.cluster_logs import ClusterLogs
from offset_sync.jobs.checks.mirrors import AskedCluster, check_mirrors
from offset_sync.jobs.checks.places import check_places
from offset_sync.jobs.checks.rights import COMMITS, OWN_GROUP, ToldRights, judge_rights
from offset_sync.jobs.checks.show import print_json, show_findings
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.librdkafka import check_client
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.kafka.topic_names import open_admin
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.model.finding import Finding, Level, check_by_check
from offset_sync.state.clock_offset import system_now_ms
from offset_sync.state.known_names import learn_names

_MOST_GROUPS = 100
_CONNECT_S = 10.0
_MOST_CLUSTERS_AT_ONCE = 8


def check_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what the command takes, and return *parser*."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(tells_cautions=True)
    return parser


def check(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Check everything and show it; return one line where something fails. Nothing is changed at a cluster."""
    check_client()
    findings = find_all(config)
    if arguments.json:
        print_json(findings, sys.stdout)
    else:
        show_findings(findings, Console())
    failed = sum(each.level is Level.FAIL for each in findings)
    return [f"{failed} of {len(findings)} checks failed"] if failed else []


def find_all(config: Config) -> list[Finding]:
    """Return what was found, cluster by cluster, then between clusters, then the tables' places."""
    rights = {alias: OwnRights(alias, config.admin_options(alias)) for alias in config.clusters}
    with ThreadPoolExecutor(_MOST_CLUSTERS_AT_ONCE) as pool:
        brokers = dict(zip(rights, pool.map(partial(_brokers, config), rights.values()), strict=True))
        answering = [rights[alias] for alias, found in brokers.items() if not isinstance(found, str)]
        ids = ask_ids(config, answering)
        groups = {each for found in pool.map(OwnRights.groups, answering) for each in found}
        # All clusters are asked for the groups of all: what is synced is not there yet at a new target.
        asked = [*sorted(filter(config.is_group_included, groups))[:_MOST_GROUPS], OWN_GROUP]
        known = with_ids(config, ids)
        check_one = partial(_check_cluster, known, asked)
        checked = dict(zip(rights, pool.map(check_one, rights.values(), brokers.values()), strict=True))
    mirrors = check_mirrors(known, {alias: each.asked for alias, each in checked.items() if each.asked is not None})
    of_clusters = (
        check_by_check([*each.findings, *mirrors.clusters.get(alias, ()), *judge_id(config, alias, ids)])
        for alias, each in checked.items()
    )
    warned = (Finding(Level.WARN, path_text(each.path), "configuration", each.text) for each in cautions(config))
    return [*chain.from_iterable(of_clusters), *mirrors.between, *warned, *check_places(config)]


def _brokers(config: Config, rights: OwnRights) -> list[int] | str:
    """Return the brokers' ids, or why there is no connection."""
    try:
        config.spark_options(rights.alias)  # a key that Java cannot take shows here
        return rights.brokers(_CONNECT_S)
    except (ClusterError, ConfigError) as error:
        return str(error)


@dataclass
class _Checked:
    """What was found at one cluster, and whom to ask for its records; None where it does not answer."""

    findings: list[Finding] = field(default_factory=list)
    asked: AskedCluster | None = None


def _check_cluster(config: Config, groups: Sequence[str], rights: OwnRights, brokers: Sequence[int] | str) -> _Checked:
    place, checked = f"clusters.{rights.alias}", _Checked()
    error = brokers if isinstance(brokers, str) else ""
    if not isinstance(brokers, str):
        try:
            for finding in _findings(config, groups, rights, brokers, checked):
                checked.findings.append(finding)  # one by one: what was found before an error counts
        except ClusterError as failure:
            error = str(failure)
    if error:
        checked.findings.append(Finding(Level.FAIL, place, "connection", error.removeprefix(f"{place}: ")))
    return checked


def _findings(
    config: Config, groups: Sequence[str], rights: OwnRights, brokers: Sequence[int], checked: _Checked
) -> Iterator[Finding]:
    alias, names = rights.alias, config.names
    admin = open_admin(alias, config.admin_options(alias), names)
    there = {name: each.partitions for name, each in admin.topics().items()}
    yield from _clashes(config, admin)
    yield Finding(Level.OK, f"clusters.{alias}", "connection", _connection(config, alias, len(brokers)))
    checkpoints = [name for each in config.clusters if each != alias for name in checkpoint_topics(config, each)]
    asked = (names.called(alias, each) for each in (*there, *config.named_topics(), COMMITS))
    rights_on = rights.of_topics(dict.fromkeys([*(each for each in asked if each is not None), *checkpoints]))
    included = {*filter(config.is_topic_included, there), *config.named_topics()}
    wanted = {names.outside(alias, each) for each in included} | {COMMITS}
    told = {name: each for name, each in rights_on.items() if name in wanted}
    yield from judge_rights(config, ToldRights(alias, rights.of_cluster(), told, rights.of_groups(groups)))
    yield from judge_settings(config, alias, rights.settings(brokers[0]), len(brokers))
    may_read = "READ" in _allowed(rights_on.get(COMMITS))
    newest_ms = rights.newest_ms(COMMITS, admin.partition_count(COMMITS) or 0) if may_read else None
    yield from judge_clock(alias, newest_ms, system_now_ms())
    readable = [each for each in there if "READ" in _allowed(rights_on.get(names.outside(alias, each)))]
    hidden = [name for name in checkpoints if isinstance(rights_on.get(name), ClusterError)]
    checked.asked = AskedCluster(ClusterLogs(config, admin), there, readable, hidden)


def _clashes(config: Config, admin: ClusterAdmin) -> Iterator[Finding]:
    """Yield what is wrong with the names of topics, if they are not the same everywhere."""
    try:
        learn_names(config, {admin.alias: admin})
    except ConfigError as error:
        for problem in error.problems:
            place, _, text = problem.partition(": ")
            yield Finding(Level.FAIL, place, "names", text)


def _connection(config: Config, alias: str, brokers: int) -> str:
    protocol = config.admin_options(alias).get("security.protocol", "PLAINTEXT")
    number = "1 broker" if brokers == 1 else f"{brokers} brokers"
    return f"{number} at {config.clusters[alias].kafka['bootstrap.servers']}, {protocol}"


def _allowed(rights: frozenset[str] | ClusterError | None) -> frozenset[str]:
    return rights if isinstance(rights, frozenset) else frozenset()
