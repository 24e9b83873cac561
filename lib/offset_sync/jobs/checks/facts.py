"""What a cluster tells of itself: our rights there, its brokers' settings and clock, and its id. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from offset_sync.config import Config
from offset_sync.config.duration import format_duration
from offset_sync.jobs.checks.asking import Cluster, may_read
from offset_sync.kafka.own_rights import Operations
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines, some
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.cluster_clock import WRONG_MS
from offset_sync.status.format import to_duration

OWN_GROUP = "offset-sync-check"
"""One of the prefix that Spark's reader makes up its groups with."""
_MANUAL = "(docs/operations.md, Minimal ACLs)"
_TOO_MUCH = {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}
_TOO_MUCH_OF_CLUSTER = {"CREATE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
_NO_COORDINATOR = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""A cluster where nobody has committed yet has no coordinators: that says nothing of rights."""
_Topics = Mapping[str, Operations | ClusterError]
RETENTION, UNCLEAN = "offsets.retention.minutes", "unclean.leader.election.enable"
TIMESTAMPS, COPIES = "log.message.timestamp.type", "offsets.topic.replication.factor"


def judge_rights(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield what is missing, or that nothing is, and what is more than is needed."""
    streams = {*filter(config.is_topic_included, cluster.partitions), *config.named_topics()}
    names = {config.names.outside(cluster.alias, each) for each in streams}
    included = {name: each for name, each in cluster.topics.items() if name in names}
    yield from _topics(cluster, included)
    yield _commits(cluster)
    yield _own_groups(cluster)
    yield _groups(config, cluster)
    yield from _too_much(cluster, included)


def _topics(cluster: Cluster, included: _Topics) -> Iterator[Finding]:
    lines = Lines(cluster.place, "topics")
    for error in (each for each in included.values() if isinstance(each, ClusterError)):
        yield lines.of(Level.FAIL, str(error).removeprefix(f"{cluster.place}: "))
    readable = {name for name, each in included.items() if may_read(each)}
    if unread := {name for name, each in included.items() if not isinstance(each, ClusterError)} - readable:
        yield lines.of(
            Level.FAIL, f"the operation Read is not allowed; grant Read on it {_MANUAL}, or exclude it", unread
        )
    if readable:
        yield lines.of(Level.OK, f"Read on {some(readable)}")


def _commits(cluster: Cluster) -> Finding:
    lines, rights = Lines(cluster.place, "commits"), cluster.topics.get(CONSUMER_OFFSETS)
    if rights is None:
        return lines.of(Level.WARN, f"{CONSUMER_OFFSETS} is not there: nobody has committed at this cluster yet")
    if isinstance(rights, ClusterError):
        return lines.of(Level.FAIL, str(rights).removeprefix(f"{cluster.place}: "))
    if not may_read(rights):
        text = f"topic {CONSUMER_OFFSETS}: the operation Read is not allowed; grant Read on it {_MANUAL}"
        return lines.of(Level.FAIL, text)
    return lines.of(Level.OK, f"Read on {CONSUMER_OFFSETS}")


def _own_groups(cluster: Cluster) -> Finding:
    lines, own = Lines(cluster.place, "own groups"), cluster.group_rights.get(OWN_GROUP)
    if not isinstance(own, str):
        return lines.of(Level.OK, "Describe on groups with the prefix offset-sync")
    if own in _NO_COORDINATOR:
        return lines.of(Level.SKIP, f"{own}: no coordinator yet; ask again when one has committed")
    text = f"groups with the prefix offset-sync: {own}: the operation Describe is not allowed; grant Describe on them"
    return lines.of(Level.FAIL, f"{text} {_MANUAL}")


def _groups(config: Config, cluster: Cluster) -> Finding:
    lines = Lines(cluster.place, "groups")
    is_target = any(target == cluster.alias for _, target in config.pairs())
    needed = "Read" if is_target else "Describe"
    groups = {name: each for name, each in cluster.group_rights.items() if name != OWN_GROUP}
    groups = {name: each for name, each in groups.items() if each not in _NO_COORDINATOR}
    if not groups:
        text = f"no group is known by which to find out about {needed}; ask again when one has committed"
        return lines.of(Level.SKIP, text)
    lacking = [name for name, each in groups.items() if isinstance(each, str) or needed.upper() not in each]
    if lacking:
        errors = {each for each in groups.values() if isinstance(each, str)} or {"GROUP_AUTHORIZATION_FAILED"}
        text = f"{some(errors)}: the operation {needed} is not allowed; grant {needed} on it {_MANUAL}, or exclude it"
        return lines.of(Level.FAIL, f"{some(lacking)}: {text}")
    return lines.of(Level.OK, f"{needed} on {some(groups)}")


def _too_much(cluster: Cluster, included: _Topics) -> Iterator[Finding]:
    lines = Lines(cluster.place, "no other right")
    own = {CONSUMER_OFFSETS: cluster.topics.get(CONSUMER_OFFSETS)}
    topics = {name: each for name, each in {**included, **own}.items() if isinstance(each, frozenset)}
    if cluster.own_rights >= _TOO_MUCH_OF_CLUSTER and all(each >= _TOO_MUCH - {"CREATE"} for each in topics.values()):
        text = "every right: the cluster has no authorizer, or we are super user; give this program a user of its own"
        yield lines.of(Level.WARN, text)
        return
    groups = {f"group {name}": each for name, each in cluster.group_rights.items() if isinstance(each, frozenset)}
    unwanted = {"the cluster": cluster.own_rights & _TOO_MUCH_OF_CLUSTER}
    unwanted |= {name: each & _TOO_MUCH for name, each in topics.items()}
    unwanted |= {name: each & {"DELETE"} for name, each in groups.items()}
    found: dict[str, list[str]] = {}
    for name, rights in unwanted.items():
        words = ", ".join(each.replace("_", " ").title().replace(" ", "") for each in sorted(rights))
        found.setdefault(words, []).append(name)
    found.pop("", None)
    for words, names in found.items():
        yield lines.of(Level.WARN, f"{words} on {some(names)} is never needed; take it back")
    if not found:
        yield lines.of(Level.OK, "no right to change topics or the cluster, as far as it tells")


def judge_settings(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield which settings of the brokers are not as they should be."""
    lines, settings = Lines(cluster.place, "broker settings"), cluster.settings
    if isinstance(settings, str):
        text = f"{settings}: it would take DescribeConfigs on the cluster, which no job needs; have {RETENTION} be more"
        twice = format_duration(2 * config.sync.refresh_interval)
        yield lines.of(Level.SKIP, f"{text} than {twice}, and {UNCLEAN} false")
        return
    wrong = list(_wrong(config, settings, cluster.brokers))
    yield from (lines.of(level, text) for level, text in wrong)
    if not wrong:
        yield lines.of(
            Level.OK, ", ".join(f"{name}={settings[name]}" for name in (RETENTION, UNCLEAN) if name in settings)
        )


def _wrong(config: Config, settings: Mapping[str, str], brokers: int) -> Iterator[tuple[Level, str]]:
    refresh, minutes = config.sync.refresh_interval, settings.get(RETENTION, "")
    if minutes.isdigit() and timedelta(minutes=int(minutes)) < 2 * refresh:
        level = Level.FAIL if timedelta(minutes=int(minutes)) <= refresh else Level.WARN
        says = f"{RETENTION}={minutes}: offsets of idle groups may expire before they are written again"
        yield level, f"{says}; set it to more than twice sync.refresh_interval ({format_duration(refresh)})"
    if settings.get(UNCLEAN) == "true":
        yield Level.WARN, f"{UNCLEAN}=true: a log may be cut, and its offsets are withheld then; set it to false"
    if "timestamp" in config.topics.strategies and settings.get(TIMESTAMPS) == "LogAppendTime":
        says = f"{TIMESTAMPS}=LogAppendTime: a copy has another time than its origin, by which strategy timestamp goes"
        yield Level.WARN, f"{says}; set CreateTime, or choose another strategy"
    if settings.get(COPIES) == "1" and brokers > 1:
        yield Level.WARN, f"{COPIES}=1: with one broker all its groups' offsets are lost; set it to 3"


def judge_clock(cluster: Cluster, now_ms: int) -> Finding:
    """Return what the time of the newest commit says.

    A clock that is ahead shows at once, as a commit of a time that is still to come. One that is behind looks like a
    cluster without commits: ``sync_offsets`` measures it while it reads.
    """
    lines = Lines(cluster.place, "clock")
    if cluster.newest_commit_ms is None:
        return lines.of(Level.SKIP, "no commit to tell it by; sync_offsets measures it while it reads")
    ahead_ms = cluster.newest_commit_ms - now_ms
    if ahead_ms > WRONG_MS:
        says = f"its newest commit is of {to_duration(ahead_ms)} from now: a clock is wrong"
        return lines.of(Level.WARN, f"{says}; set the brokers' clocks, or this machine's (NTP)")
    return lines.of(
        Level.OK, f"its newest commit is {to_duration(max(0, -ahead_ms))} old, so its clock is not ahead of ours"
    )


def judge_id(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield whether the cluster's id is what *config* has; nothing where the mirror does not name it."""
    lines, header = Lines(cluster.place, "cluster id"), config.mirror.origin_header
    said, given = cluster.cluster_id, config.clusters[cluster.alias].origin
    if isinstance(said, ClusterError):
        text = str(said).removeprefix(f"{cluster.place}: ")
        level = Level.SKIP if given else Level.FAIL
        yield lines.of(level, f"{text}; or set {cluster.place}.origin to what {header} says of its records")
    elif given not in ("", said) and said:
        text = f"it is {said}, and {cluster.place}.origin is {given}: what {header} calls {said} is unread by everyone"
        yield lines.of(Level.WARN, f"{text}; remove origin, unless this is another way to the cluster")
    elif said:
        yield lines.of(Level.OK, f"{said}, as {header} has to name it")
