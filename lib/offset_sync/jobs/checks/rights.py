"""From what a cluster tells of our rights to what is missing, and what is too much. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, some

COMMITS = "__consumer_offsets"
OWN_GROUP = "offset-sync-check"
"""One of the prefix that Spark's reader makes up its groups with."""
_MANUAL = "(docs/operations.md, Minimal ACLs)"
_TOO_MUCH = {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}
_TOO_MUCH_OF_CLUSTER = {"CREATE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
_NO_COORDINATOR = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""A cluster where nobody has committed yet has no coordinators: that says nothing of rights."""
Rights = frozenset[str]


@dataclass(frozen=True)
class ToldRights:
    """What cluster *alias* tells; *topics* has the included ones, those named in full, and ``__consumer_offsets``.

    Topics that are not there are left out. *groups* has names of groups and an error's name where it is refused.
    """

    alias: str
    cluster: Rights = frozenset()
    topics: Mapping[str, Rights | ClusterError] = field(default_factory=dict)
    groups: Mapping[str, Rights | str] = field(default_factory=dict)


def judge_rights(config: Config, told: ToldRights) -> Iterator[Finding]:
    """Yield what is missing at a cluster, or that nothing is, and what is more than is needed."""
    yield from _topics(config, told)
    yield from _commits(told)
    yield from _groups(config, told)
    yield from _too_much(config, told)


def _topics(config: Config, told: ToldRights) -> Iterator[Finding]:
    place, topics = f"clusters.{told.alias}", {name: each for name, each in told.topics.items() if name != COMMITS}
    names = config.names
    known = config.named_topics()
    # Where names have prefixes a topic of that name is produced at one cluster perhaps, and its copy is here.
    copied = {names.origin_topic(each) for each in known if names.outside(told.alias, each) in topics}
    named = [each for each in known if names.is_same or names.home(each) in (None, told.alias)]
    named = [each for each in named if names.is_same or names.origin_topic(each) not in copied]
    absent = [name for each in named if (name := names.outside(told.alias, each)) not in topics]
    if absent:
        text = f"{some(absent)}: not there; nothing of it is synced before it is created and mirrored"
        yield Finding(Level.WARN, place, "topics", text)
    elif not topics:
        yield Finding(Level.WARN, place, "topics", "none that is included may be seen; grant Describe, or create them")
    refused = {name: each for name, each in topics.items() if isinstance(each, ClusterError)}
    for error in refused.values():
        yield Finding(Level.FAIL, place, "topics", str(error).removeprefix(f"{place}: "))
    unread = [name for name, each in topics.items() if not isinstance(each, ClusterError) and "READ" not in each]
    if unread:
        text = f"{some(unread)}: the operation Read is not allowed; grant Read on it {_MANUAL}, or exclude it"
        yield Finding(Level.FAIL, place, "topics", text)
    if readable := topics.keys() - refused.keys() - set(unread):
        yield Finding(Level.OK, place, "topics", f"Read on {some(readable)}")


def _commits(told: ToldRights) -> Iterator[Finding]:
    place, rights = f"clusters.{told.alias}", told.topics.get(COMMITS)
    if rights is None:
        text = f"{COMMITS} is not there: nobody has committed at this cluster yet"
        yield Finding(Level.WARN, place, "commits", text)
    elif isinstance(rights, ClusterError):
        yield Finding(Level.FAIL, place, "commits", str(rights).removeprefix(f"{place}: "))
    elif "READ" not in rights:
        text = f"topic {COMMITS}: the operation Read is not allowed; grant Read on it {_MANUAL}"
        yield Finding(Level.FAIL, place, "commits", text)
    else:
        yield Finding(Level.OK, place, "commits", f"Read on {COMMITS}")


def _groups(config: Config, told: ToldRights) -> Iterator[Finding]:
    place, groups = f"clusters.{told.alias}", dict(told.groups)
    own = groups.pop(OWN_GROUP, frozenset())
    unknown = {name for name, each in groups.items() if isinstance(each, str) and each in _NO_COORDINATOR}
    groups = {name: each for name, each in groups.items() if name not in unknown}
    if isinstance(own, str) and own in _NO_COORDINATOR:
        yield Finding(Level.SKIP, place, "own groups", f"{own}: no coordinator yet; ask again when one has committed")
    elif isinstance(own, str):
        text = f"groups with the prefix offset-sync: {own}: the operation Describe is not allowed; grant Describe on"
        yield Finding(Level.FAIL, place, "own groups", f"{text} them {_MANUAL}")
    else:
        yield Finding(Level.OK, place, "own groups", "Describe on groups with the prefix offset-sync")
    needed = _needed_of_groups(config, told.alias)
    words = " and ".join(operation.capitalize() for operation in sorted(needed, reverse=True))
    lacking = [name for name, each in groups.items() if isinstance(each, str) or needed - each]
    if not groups:
        text = f"no group is known by which to find out about {words}; ask again when one has committed"
        yield Finding(Level.SKIP, place, "groups", text)
    elif lacking:
        errors = {each for each in groups.values() if isinstance(each, str)} or {"GROUP_AUTHORIZATION_FAILED"}
        text = f"{some(lacking)}: {some(errors)}: the operation {words} is not allowed; grant {words} on it {_MANUAL}"
        yield Finding(Level.FAIL, place, "groups", f"{text}, or exclude it")
    else:
        yield Finding(Level.OK, place, "groups", f"{words} on {some(groups)}")


def _needed_of_groups(config: Config, alias: str) -> set[str]:
    return {"READ"} if alias in {target for _, target in config.pairs()} else {"DESCRIBE"}


def _too_much(config: Config, told: ToldRights) -> Iterator[Finding]:
    place, check = f"clusters.{told.alias}", "no other right"
    topics: dict[str, Rights] = {name: each for name, each in told.topics.items() if not isinstance(each, ClusterError)}
    if told.cluster >= _TOO_MUCH_OF_CLUSTER and all(each >= _TOO_MUCH - {"CREATE"} for each in topics.values()):
        text = "every right: the cluster has no authorizer, or we are super user; give this program a user of its own"
        yield Finding(Level.WARN, place, check, text)
        return
    found = dict(_named(_TOO_MUCH_OF_CLUSTER, {"the cluster": told.cluster}))
    found |= _named(_TOO_MUCH, topics)
    groups = {f"group {name}": each for name, each in told.groups.items() if not isinstance(each, str)}
    found |= _named({"DELETE"}, groups)
    for rights, names in found.items():
        yield Finding(Level.WARN, place, check, f"{rights} on {some(names)} is never needed; take it back")
    if not found:
        yield Finding(Level.OK, place, check, "no right to change topics or the cluster, as far as it tells")


def _named(unwanted: set[str], by_name: Mapping[str, Rights]) -> dict[str, list[str]]:
    """Return the names of what has unwanted rights, by these rights in words."""
    found: dict[str, list[str]] = {}
    for name, rights in by_name.items():
        if rights & unwanted:
            words = ", ".join(each.replace("_", " ").title().replace(" ", "") for each in sorted(rights & unwanted))
            found.setdefault(words, []).append(name)
    return found
