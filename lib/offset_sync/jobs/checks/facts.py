"""Findings about one cluster: our rights there, its brokers' settings and clock, and its id. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from offset_sync.config import Config
from offset_sync.config.duration import format_duration
from offset_sync.jobs.checks.asking import Cluster
from offset_sync.kafka.own_rights import Operations
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines, some
from offset_sync.model.text import to_duration
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.cluster_clock import WRONG_MS
from offset_sync.sync.held_lists import own_group, seen_group
from offset_sync.translate.read_list import MOST_CHARACTERS

_CHECK = "-check"
OWN_GROUP = f"offset-sync{_CHECK}"
"""A group with the prefix of those that Spark's reader creates."""
LIST_GROUP = own_group(_CHECK)
"""A group with the prefix of those that hold read lists."""
MARK_GROUP = seen_group(_CHECK)
"""A group with the prefix of those that hold the marks of consumers that use them."""
_MANUAL = "(docs/operations.md, Minimal ACLs)"
_TOO_MUCH = {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}
_TOO_MUCH_OF_CLUSTER = {"CREATE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
_NO_COORDINATOR = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""A cluster without any commit yet has no coordinators: that is no error of rights."""
RETENTION, UNCLEAN = "offsets.retention.minutes", "unclean.leader.election.enable"
TIMESTAMPS, COPIES = "log.message.timestamp.type", "offsets.topic.replication.factor"
POLICY, METADATA = "cleanup.policy", "offset.metadata.max.bytes"
_Rights = Mapping[str, Operations | ClusterError | str]
"""By the names of topics or groups; an error, or its name, where we may not describe them."""


def judge_rights(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield missing rights, or that none is, and rights beyond those needed."""
    streams = {*filter(config.is_topic_included, cluster.partitions), *config.named_topics()}
    names = {config.names.outside(cluster.alias, each) for each in streams}
    included = {name: each for name, each in cluster.topics.items() if name in names}
    commits = {name: each for name, each in cluster.topics.items() if name == CONSUMER_OFFSETS}
    groups = {name: each for name, each in cluster.group_rights.items() if each not in _NO_COORDINATOR}
    own, lists, marks = (
        {f"groups with the prefix {each.removesuffix(_CHECK)}": groups.pop(each)} if each in groups else {}
        for each in (OWN_GROUP, LIST_GROUP, MARK_GROUP)
    )
    of_groups = "Read" if any(target == cluster.alias for _, target in config.pairs()) else "Describe"
    yield from _needed(cluster, "topics", "Read", included, ", or exclude it")
    yield from _needed(cluster, "commits", "Read", commits, f", or set {cluster.place}.commits: admin")
    yield from _needed(cluster, "own groups", "Describe", own)
    yield from _needed(cluster, "read lists", of_groups, lists)
    yield from _needed(cluster, "marks", "Describe", marks)
    yield from _needed(cluster, "groups", of_groups, groups, ", or exclude it")
    if cluster.alias in config.polled():
        every = format_duration(config.sync.poll_interval)
        text = f"polled from the coordinators every {every}: what is committed between two polls is not in the history"
        yield Finding(Level.OK, cluster.place, "commits", text)
    elif not commits:
        text = f"{CONSUMER_OFFSETS} does not exist: no group has committed at this cluster yet"
        yield Finding(Level.WARN, cluster.place, "commits", text)
    asked = {"own groups": own}
    asked |= {"read lists": lists, "marks": marks} if config.sync.read_lists.groups else {}
    for check in (check for check, found in asked.items() if not found):
        text = "no coordinator yet; repeat check once a group has committed"
        yield Finding(Level.SKIP, cluster.place, check, text)
    if not groups:
        text = f"no group exists with which to check {of_groups}; repeat check once one has committed"
        yield Finding(Level.SKIP, cluster.place, "groups", text)
    yield from _too_much(cluster, included | commits, groups)


def _needed(cluster: Cluster, check: str, operation: str, rights: _Rights, or_else: str = "") -> Iterator[Finding]:
    """Yield for which of *rights* the operation is allowed, and for which it is not."""
    lines = Lines(cluster.place, check)
    allowed = {name for name, each in rights.items() if isinstance(each, frozenset) and operation.upper() in each}
    hidden = {name: each for name, each in rights.items() if isinstance(each, ClusterError)}
    for error in hidden.values():
        yield lines.of(Level.FAIL, error.message)
    if missing := rights.keys() - allowed - hidden.keys():
        errors = {each for name in missing if isinstance(each := rights[name], str)}
        named = f"{some(missing)}: {some(errors)}" if errors else some(missing)
        text = f"the operation {operation} is not allowed; grant {operation} on it {_MANUAL}{or_else}"
        yield lines.of(Level.FAIL, f"{named}: {text}")
    if allowed:
        yield lines.of(Level.OK, f"{operation} on {some(allowed)}")


def _too_much(cluster: Cluster, of_topics: _Rights, of_groups: _Rights) -> Iterator[Finding]:
    lines = Lines(cluster.place, "no other right")
    topics = {name: each for name, each in of_topics.items() if isinstance(each, frozenset)}
    if cluster.own_rights >= _TOO_MUCH_OF_CLUSTER and all(each >= _TOO_MUCH - {"CREATE"} for each in topics.values()):
        text = "every right: the cluster has no authorizer, or this program is a super user; give it a user of its own"
        yield lines.of(Level.WARN, text)
        return
    unwanted = {"the cluster": cluster.own_rights & _TOO_MUCH_OF_CLUSTER}
    unwanted |= {name: each & _TOO_MUCH for name, each in topics.items()}
    unwanted |= {f"group {name}": each & {"DELETE"} for name, each in of_groups.items() if isinstance(each, frozenset)}
    found: dict[str, list[str]] = {}
    for name, rights in unwanted.items():
        words = ", ".join(each.replace("_", " ").title().replace(" ", "") for each in sorted(rights))
        found.setdefault(words, []).append(name)
    found.pop("", None)
    for words, names in found.items():
        yield lines.of(Level.WARN, f"{words} on {some(names)} is never needed; revoke it")
    if not found:
        yield lines.of(Level.OK, "no right to change topics or the cluster, as far as the cluster shows")


def judge_settings(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield which settings of the brokers, and of the log of commits, are wrong."""
    lines, settings = Lines(cluster.place, "broker settings"), cluster.settings
    if isinstance(cluster.commit_log, str):
        text = f"{cluster.commit_log}: unknown without DescribeConfigs; make sure that {POLICY} is compact"
        yield Finding(Level.SKIP, cluster.place, CONSUMER_OFFSETS, text)
    elif "delete" in (policy := cluster.commit_log.get(POLICY, "")):
        text = f"{POLICY}={policy}: brokers forget the offsets of groups that are idle for longer than retention.ms"
        yield Finding(Level.FAIL, cluster.place, CONSUMER_OFFSETS, f"{text}; set it to compact")
    if isinstance(settings, str):
        text = f"{settings}: reading them needs DescribeConfigs, which no job needs; make sure that {RETENTION} is more"
        text = f"{text} than {format_duration(2 * config.sync.refresh_interval)}, and {UNCLEAN} is false"
        more = f", and {METADATA} at least {MOST_CHARACTERS}" if config.sync.read_lists.groups else ""
        yield lines.of(Level.SKIP, text + more)
        return
    wrong = list(_wrong(config, settings, cluster.brokers))
    yield from (lines.of(level, text) for level, text in wrong)
    if not wrong:
        told = ", ".join(f"{name}={settings[name]}" for name in (RETENTION, UNCLEAN) if name in settings)
        yield lines.of(Level.OK, told)


def _wrong(config: Config, settings: Mapping[str, str], brokers: int) -> Iterator[tuple[Level, str]]:
    refresh, minutes = config.sync.refresh_interval, settings.get(RETENTION, "")
    if minutes.isdigit() and timedelta(minutes=int(minutes)) < 2 * refresh:
        level = Level.FAIL if timedelta(minutes=int(minutes)) <= refresh else Level.WARN
        says = f"{RETENTION}={minutes}: offsets of idle groups may expire before they are refreshed"
        yield level, f"{says}; set it to more than twice sync.refresh_interval ({format_duration(refresh)})"
    if settings.get(UNCLEAN) == "true":
        yield Level.WARN, f"{UNCLEAN}=true: a log may be truncated, and its offsets are withheld then; set it to false"
    if "timestamp" in config.topics.strategies and settings.get(TIMESTAMPS) == "LogAppendTime":
        says = f"{TIMESTAMPS}=LogAppendTime: copies do not keep the timestamps that strategy timestamp compares"
        yield Level.WARN, f"{says}; set CreateTime, or choose another strategy"
    size = settings.get(METADATA, "")
    if config.sync.read_lists.groups and size.isdigit() and int(size) < MOST_CHARACTERS:
        says = f"{METADATA}={size}: longer read lists are refused, so the records on them are read again"
        yield Level.WARN, f"{says}; set it to {MOST_CHARACTERS}"
    if settings.get(COPIES) == "1" and brokers > 1:
        yield Level.WARN, f"{COPIES}=1: if one broker is lost, so are the offsets of all its groups; set it to 3"


def judge_clock(config: Config, cluster: Cluster, now_ms: int) -> Finding:
    """Return the finding from the time of the newest commit.

    A clock that is ahead shows at once, as a commit in the future. One that is behind looks like a cluster without
    recent commits: ``sync_offsets`` measures it while it reads.
    """
    lines = Lines(cluster.place, "clock")
    if cluster.alias in config.polled():
        return lines.of(Level.OK, "not used: polled commits have the times of the polls, by the clock of sync_offsets")
    if cluster.newest_commit_ms is None:
        return lines.of(Level.SKIP, "no commit to judge it by; sync_offsets measures it while it reads")
    ahead_ms = cluster.newest_commit_ms - now_ms
    if ahead_ms > WRONG_MS:
        says = f"its newest commit is {to_duration(ahead_ms)} in the future: a clock is wrong"
        return lines.of(Level.WARN, f"{says}; correct the brokers' clocks, or this machine's (NTP)")
    return lines.of(
        Level.OK, f"its newest commit is {to_duration(max(0, -ahead_ms))} old, so its clock is not ahead of ours"
    )


def judge_id(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield whether the cluster's id is the one in *config*; nothing if the mirror does not use it."""
    if not config.mirror.known.asks_ids:
        return
    lines, header = Lines(cluster.place, "cluster id"), config.mirror.origin_header
    said, given = cluster.cluster_id, config.clusters[cluster.alias].origin
    if given not in ("", said) and said:
        text = f"it is {said}, and {cluster.place}.origin is {given}"
        harm = f"records with {header} {said} count as unread by all groups"
        yield lines.of(
            Level.WARN, f"{text}: {harm}; remove origin, unless these servers are another address of that cluster"
        )
    elif said:
        yield lines.of(Level.OK, f"{said}, the value that {header} must have")
