"""The rules of ``check``: each has a level and one sentence with the remedy. ``judge.py`` finds what they apply to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

from offset_sync.model.finding import Level
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.translate.read_list import MOST_CHARACTERS

OK, SKIP, WARN, FAIL = Level


class Rule(NamedTuple):
    """*text* has fields; it is said once for all topics of a cluster to which the rule applies alike."""

    check: str
    level: Level
    text: str

    def __call__(self, topics: Collection[str] = (), **fields: Any) -> Case:
        """Return the case that the rule applies to these *topics*, with the *fields* of its sentence."""
        return self, topics, fields


Case: TypeAlias = tuple[Rule, Collection[str], Mapping[str, Any]]
"""A rule, the topics to which it applies, and the fields of its sentence."""

_CHECK = "docs/operations.md, Check"
_HEADERS, _SETTINGS = "mirror headers", "broker settings"
_STAMP_THEM = (
    "configure the mirror to stamp them (docs/mirrors.md), or identify them by contents (docs/mirrors-contents.md)"
)

# Rights; the check is filled in.
REFUSED = Rule(
    "",
    FAIL,
    "{names}: the operation {right} is not allowed; grant {right} on it (docs/operations.md, Minimal ACLs){or_else}",
)
NO_ANSWER = Rule("", FAIL, "{said}")
POLLED = Rule("commits", OK, "polled every {said}: offsets committed between two polls have no history")
NO_COMMITS = Rule("commits", WARN, f"{CONSUMER_OFFSETS} does not exist: no group has committed at this cluster yet")

CONNECTION = Rule("connection", OK, "brokers: {said}")
POLICY = Rule(
    CONSUMER_OFFSETS,
    FAIL,
    "cleanup.policy={said}: brokers forget the offsets of idle groups after retention.ms; set it to compact",
)
HIDDEN = Rule(
    _SETTINGS,
    SKIP,
    "{said}: reading them needs DescribeConfigs, which no job needs; make sure that cleanup.policy of "
    f"{CONSUMER_OFFSETS} is compact: {_CHECK}",
)
EXPIRED = Rule(
    _SETTINGS,
    FAIL,
    "{said}: offsets of idle groups may expire before they are refreshed; set it to more than twice "
    "sync.refresh_interval",
)
UNCLEAN = Rule(_SETTINGS, WARN, "{said}: a log may be truncated, and its offsets are withheld then; set it to false")
SMALL = Rule(
    _SETTINGS,
    WARN,
    f"{{said}}: longer read lists are refused, so the records on them are read again; set it to {MOST_CHARACTERS}",
)
ABSENT = Rule("topics", WARN, "does not exist; it is not synced before it is created and mirrored")
NO_TOPIC = Rule("topics", WARN, "no included topic is visible; grant Describe, or create them")
DIFFERENT = Rule(
    "partitions",
    FAIL,
    "{said}; the others are withheld as PARTITIONS_DIFFER: add partitions where there are fewer, and configure the "
    "mirror to keep each record's partition",
)
OWN_INCLUDED = Rule(
    "other mirrors", WARN, "MirrorMaker's own, and included: it is never mirrored; add it to topics.exclude"
)
OTHER_MIRROR = Rule(
    "other mirrors", SKIP, "{said}: whether it writes offsets of groups too cannot be seen here; {remedy}"
)

NO_RECORDS = Rule(_HEADERS, FAIL, "{said}")
NONE_READ = Rule(_HEADERS, SKIP, "no record there yet, or none was read in time; repeat check")
UNREADABLE = Rule(_HEADERS, FAIL, f"{{count}} cannot be read, first {{first}}: {{said}}: {_CHECK}")
UNKNOWN = Rule(_HEADERS, WARN, "no cluster has the origin {said}; set clusters.….origin to what the mirror writes")
FROM_HERE = Rule(
    _HEADERS,
    WARN,
    "{count} name this cluster as their origin ({said}), as only copies elsewhere should: configure each flow to stamp "
    "the cluster that it reads from",
)
STAMPED = Rule(_HEADERS, OK, "stamped, from {said}; {count} records checked")
NATIVE = Rule(_HEADERS, OK, "")
"""Nothing is said of these."""
BY_NAME = Rule(
    _HEADERS,
    FAIL,
    f"{{count}} have no {{headers}}, and by their name they are copies, so they count as unread by all groups; "
    f"{_STAMP_THEM}",
)
TWICE = Rule(
    _HEADERS,
    FAIL,
    f"the same records are at {{said}}, both without {{headers}}, so copies count as produced here; {_STAMP_THEM}",
)
UNSTAMPED = Rule(
    _HEADERS,
    WARN,
    "{count} have no {headers}; correct only if nothing is mirrored to this cluster yet: docs/mirrors.md",
)
NOTHING_WRONG = {
    "topics": "Read on every included topic",
    "commits": f"Read on {CONSUMER_OFFSETS}",
    "own groups": "Describe on the groups of Spark's reader",
    "groups": "no group that was tried is refused",
    _SETTINGS: "none would lose offsets",
    "partitions": "no topic has more, or fewer, at another cluster",
}
"""By check: what is said where no rule applies."""
