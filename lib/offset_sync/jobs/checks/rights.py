"""Which rights are missing at a cluster, and which are more than is needed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from offset_sync.config import Config
from offset_sync.jobs.checks.cluster import Cluster, may_read
from offset_sync.kafka.own_rights import Operations
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines, some
from offset_sync.model.values import CONSUMER_OFFSETS

OWN_GROUP = "offset-sync-check"
"""One of the prefix that Spark's reader makes up its groups with."""
_MANUAL = "(docs/operations.md, Minimal ACLs)"
_TOO_MUCH = {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}
_TOO_MUCH_OF_CLUSTER = {"CREATE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
_NO_COORDINATOR = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""A cluster where nobody has committed yet has no coordinators: that says nothing of rights."""
_Topics = Mapping[str, Operations | ClusterError]


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
