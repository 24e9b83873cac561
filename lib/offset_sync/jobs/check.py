"""The command ``check``: is this installation able to run, seen from the machine on which it is typed."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain

from rich.console import Console

from offset_sync.config import Config
from offset_sync.jobs.checks.broker_settings import judge_settings
from offset_sync.jobs.checks.cluster_ids import ask_ids, judge_id, with_ids
from offset_sync.jobs.checks.finding import Finding, Level
from offset_sync.jobs.checks.mirror_maker import judge_mirror_maker
from offset_sync.jobs.checks.mirror_sample import judge_sample, sample_records
from offset_sync.jobs.checks.places import check_places
from offset_sync.jobs.checks.rights import COMMITS, OWN_GROUP, ToldRights, judge_rights
from offset_sync.jobs.checks.show import print_json, show_findings
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.librdkafka import check_client
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.kafka.topic_names import open_admin, open_reader
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.state.known_names import learn_names

_MOST_GROUPS = 100
_CONNECT_S = 10.0
_MOST_CLUSTERS_AT_ONCE = 8


def check_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what the command takes, and return *parser*."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
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
    """Return what was found, cluster by cluster, then the tables' places."""
    rights = {alias: OwnRights(alias, config.admin_options(alias)) for alias in config.clusters}
    with ThreadPoolExecutor(_MOST_CLUSTERS_AT_ONCE) as pool:
        brokers = dict(zip(rights, pool.map(partial(_brokers, config), rights.values()), strict=True))
        answering = [rights[alias] for alias, found in brokers.items() if not isinstance(found, str)]
        ids = ask_ids(config, answering)
        groups = {each for found in pool.map(OwnRights.groups, answering) for each in found}
        # All clusters are asked for the groups of all: what is synced is not there yet at a new target.
        asked = [*sorted(filter(config.is_group_included, groups))[:_MOST_GROUPS], OWN_GROUP]
        check_one = partial(_check_cluster, with_ids(config, ids), asked)
        by_cluster = dict(zip(rights, pool.map(check_one, rights.values(), brokers.values()), strict=True))
    of_clusters = ([*found, *judge_id(config, alias, ids)] for alias, found in by_cluster.items())
    return [*chain.from_iterable(of_clusters), *check_places(config, os.environ)]


def _brokers(config: Config, rights: OwnRights) -> list[int] | str:
    """Return the brokers' ids, or why there is no connection."""
    try:
        config.spark_options(rights.alias)  # a key that Java cannot take shows here
        return rights.brokers(_CONNECT_S)
    except (ClusterError, ConfigError) as error:
        return str(error)


def _check_cluster(
    config: Config, groups: Sequence[str], rights: OwnRights, brokers: Sequence[int] | str
) -> list[Finding]:
    place, findings = f"clusters.{rights.alias}", list[Finding]()
    error = brokers if isinstance(brokers, str) else ""
    if not isinstance(brokers, str):
        try:
            for finding in _findings(config, groups, rights, brokers):
                findings.append(finding)  # one by one: what was found before an error counts
        except ClusterError as failure:
            error = str(failure)
    if error:
        findings.append(Finding(Level.FAIL, place, "connection", error.removeprefix(f"{place}: ")))
    return findings


def _findings(config: Config, groups: Sequence[str], rights: OwnRights, brokers: Sequence[int]) -> Iterator[Finding]:
    alias = rights.alias
    options = config.admin_options(alias)
    admin, names = open_admin(alias, options, config.names), config.names
    included = [name for name in admin.topics() if config.is_topic_included(name)]
    yield from _clashes(config, admin)
    yield Finding(Level.OK, f"clusters.{alias}", "connection", _connection(config, alias, len(brokers)))
    asked = (names.called(alias, each) for each in (*included, *config.named_topics(), COMMITS))
    topics = rights.of_topics(dict.fromkeys(each for each in asked if each is not None))
    yield from judge_rights(config, ToldRights(alias, rights.of_cluster(), topics, rights.of_groups(groups)))
    stamped = [each for each in included if not config.original_of(each)]
    readable = [each for each in stamped if "READ" in _allowed(topics.get(names.outside(alias, each)))]
    reader = open_reader(alias, options, names)
    yield from judge_sample(config, alias, sample_records(admin, reader, readable))
    yield from judge_mirror_maker(config, ClusterAdmin(alias, options))
    yield from judge_settings(config, alias, rights.settings(brokers[0]), len(brokers))


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
