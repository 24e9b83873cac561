"""What the command check finds, case by case, as tests/golden/outputs/check.txt has it; no cluster is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakes.newest_logs import asked, copied, known_config, natives, record, silent_cluster, stamped, told
from offset_sync.check.judge import judge
from offset_sync.check.sample import OWN_GROUPS, with_records
from offset_sync.config import Config
from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.finding import Level
from offset_sync.model.values import CONSUMER_OFFSETS as COMMITS
from tools.golden_output import expect

Topics = Mapping[str, Sequence[TailRecord]]
Sections = dict[str, Any]
MirrorCase = tuple[str, Sections, Topics, Topics]
"""A title, sections of the configuration, and the newest records at dc1 and at dc2."""

ORDERS = natives(20)
MIRRORED = {"IDC": b"dc1", "Offset": b"7"}
HERE = {**MIRRORED, "Place": b"orders-0"}
REDPANDA = {"redpanda-migrator-provenance": b"id-1", "redpanda-migrator-offset": (7).to_bytes(8, "big")}
NAMED: Sections = {"topics": {"include": ["orders"]}}
TWO_NAMED: Sections = {"topics": {"include": ["orders", "pay"]}}
PLACED: Sections = {"mirror": {"place_header": "Place"}}
RENAMED: Sections = {"mirror": {"names": "mm2"}}
RENAMED_PLACED: Sections = {"mirror": {"place_header": "Place", "names": "mm2"}}
SPELLED_OUT: Sections = {
    "clusters": {f"dc{n}": {"origin": f"id-{n}", "kafka": {"bootstrap.servers": "a:1"}} for n in (1, 2)},
    "mirror": {
        "origin_header": "redpanda-migrator-provenance",
        "offset_header": "redpanda-migrator-offset",
        "offset_encoding": "int64",
    },
}


def of(*headers: dict[str, bytes]) -> list[TailRecord]:
    """Return records with these headers."""
    return [record(offset, each) for offset, each in enumerate(headers)]


def names(*topics: str) -> Topics:
    return dict.fromkeys(topics, ())


def wrapped(origin: bytes, offset: bytes) -> MirrorCase:
    return f"a converter has wrapped {origin.decode()}", {}, {}, {"orders": of({"IDC": origin, "Offset": offset})}


BESIDE, OWN = [*natives(3), *stamped(ORDERS[:2], first=3)], record(20, value=b"own")
UNSTAMPED = {"orders": copied(ORDERS[10:]), "pay": stamped(ORDERS)}
STAMPED_LATER = [*copied(ORDERS[:10]), *stamped(ORDERS[10:], first=10)]
STOPPED_AT_1, STOPPED_AT_2 = ([*stamped(ORDERS[:5], origin), *natives(9, first=5)] for origin in (b"dc2", b"dc1"))
HEADERS: list[MirrorCase] = [
    ("copies are stamped, beside records of this cluster", {}, {}, {"orders": stamped(ORDERS), "pay/7": BESIDE}),
    ("produced at both, and dc1 has no copies", {}, {"orders": ORDERS}, {"orders": [*stamped(ORDERS), OWN]}),
    ("copies that name their own cluster", {}, {"orders": ORDERS}, {"orders": stamped(ORDERS, b"dc2")}),
    ("the same records at both, unstamped: told once", {}, {"orders": ORDERS, "pay": ORDERS}, UNSTAMPED),
    ("unstamped copies from before the mirror stamped", {}, {"orders": ORDERS}, {"orders": STAMPED_LATER}),
    ("both mirrors stamp no more", {}, {"orders": STOPPED_AT_1}, {"orders": STOPPED_AT_2}),
    ("an origin that no cluster has", {}, {}, {"orders": of({**MIRRORED, "IDC": b"IDC9"}), "pay": stamped(ORDERS)}),
    wrapped(b"ZGMx", b"Nw=="),
    wrapped(b'{"schema": {}, "payload": "dc1"}', b"7"),
    ("the place is another log's", PLACED, {}, {"orders": of(HERE, {**MIRRORED, "Place": b"payments-0"})}),
    ("a part of the headers of another preset", {}, {}, {"orders": of(MIRRORED, {"redpanda-migrator-offset": b"7"})}),
    ("a preset that is spelled out", SPELLED_OUT, {}, {"orders": of(REDPANDA)}),
    ("another name, a place of its own", RENAMED_PLACED, {}, {"dc1.orders": of(HERE, {**HERE, "Place": b"dc1.x-0"})}),
]
TOPICS: list[MirrorCase] = [
    ("numbers of partitions", {}, names("orders/2", "pay"), names("orders/3", "pay")),
    ("missing at dc2, by name", TWO_NAMED, names("orders", "pay"), names("orders")),
    ("nowhere", NAMED, {}, {}),
    ("no included topic", {}, {}, {}),
    ("a copy of another name", {**NAMED, **RENAMED}, names("orders"), names("dc1.orders")),
    ("MirrorMaker's checkpoints", NAMED, {}, names("heartbeats", "dc1.checkpoints.internal")),
    ("topics of others", NAMED, {}, names("__k2k_consumer-offsets", "_confluent-link-metadata", "__mirror_state")),
    ("topics of MSK Replicator", NAMED, {}, names("__amazon_msk_replicator_status")),
]


def of_mirrors(cases: Sequence[MirrorCase], *checks: str) -> Iterator[str]:
    """Yield what is found of these checks, and their titles."""
    for title, sections, at_dc1, at_dc2 in cases:
        config = known_config(**sections)
        yield f"\n{title}"
        for place, lines in told(config, asked(config, {"dc1": at_dc1, "dc2": at_dc2})).items():
            yield from (f"  {place}: {line}" for line in lines if line.partition(": ")[0].partition(" ")[2] in checks)


READ, DESCRIBE = frozenset({"READ", "DESCRIBE", "DESCRIBE_CONFIGS"}), frozenset({"DESCRIBE"})
NO, NONE_YET = "GROUP_AUTHORIZATION_FAILED", "COORDINATOR_NOT_AVAILABLE"
READABLE = {"orders": READ, COMMITS: READ}
LISTS: Sections = {"sync": {"read_lists": {"groups": ["billing", "ship.*"]}}}


def groups(billing: Any = READ, own: Any = DESCRIBE, lists: Any = None, marks: Any = DESCRIBE) -> Sections:
    """Return what is told of groups, with those of read lists if their rights are given."""
    of_lists = {} if lists is None else {OWN_GROUPS["read lists"]: lists, OWN_GROUPS["marks"]: marks}
    return {"group_rights": {"billing": billing, OWN_GROUPS["own groups"]: own, **of_lists}}


RIGHTS: list[tuple[str, Sections, Sections]] = [
    ("the minimal rights", {}, {}),
    ("no coordinator, as without commits", {}, {"topics": {"orders": READ}, **groups(NONE_YET, NONE_YET)}),
    ("no Describe on a topic", {}, {"topics": {"orders": NotAuthorizedError("dc2", "orders"), COMMITS: READ}}),
    ("no Read on a topic", {}, {"topics": {"orders": DESCRIBE, COMMITS: READ}}),
    ("no Read on the log of commits", {}, {"topics": {"orders": READ, COMMITS: DESCRIBE}}),
    ("no Describe on our groups", {}, groups(own=NO)),
    ("read lists", LISTS, groups(lists=READ)),
    ("read lists can only be read", LISTS, groups(lists=DESCRIBE)),
    ("marks are refused", LISTS, groups(lists=READ, marks=NO)),
]
GOOD = {"offsets.retention.minutes": "10080", "unclean.leader.election.enable": "false"}
LISTED: Sections = {"sync": {"read_lists": {"groups": ["billing"]}}}
SMALL = GOOD | {"offset.metadata.max.bytes": "4095"}
SETTINGS: list[tuple[str, Sections, Sections]] = [
    ("as they should be", {}, {"settings": GOOD}),
    ("retention of offsets below the refresh", {}, {"settings": GOOD | {"offsets.retention.minutes": "720"}}),
    ("unclean elections", {}, {"settings": GOOD | {"unclean.leader.election.enable": "true"}}),
    ("little room for read lists", LISTED, {"settings": SMALL}),
    ("not to be read", {}, {"settings": "CLUSTER_AUTHORIZATION_FAILED"}),
    ("commits compacted and deleted", {}, {"settings": GOOD, "commit_log": {"cleanup.policy": "compact,delete"}}),
]
PRESET: Sections = {"mirror": {"preset": "redpanda-migrator"}}


def of_facts() -> Iterator[str]:
    """Yield what is found of the answers of one cluster, and titles."""
    good = {"topics": READABLE, "partitions": {"orders": 1}, **groups(), "settings": GOOD}
    cases = [*RIGHTS, *((title, sections, {"brokers": 3, **answers}) for title, sections, answers in SETTINGS)]
    for title, sections, answers in cases:
        yield from (f"\n{title}", *facts(known_config(**{**NAMED, **sections}), **{**good, **answers}))


def facts(config: Config, **answers: Any) -> Iterator[str]:
    """Yield what is wrong with the answers of dc2, without its records."""
    found = judge(with_records(config, {"dc2": silent_cluster(**answers)}, {}))
    yield from (str_of(each) for each in found if each.check != "mirror headers" and each.level is not Level.OK)


def str_of(finding: Any) -> str:
    return f"  {finding.place}: {finding.level.value} {finding.check}: {finding.text}"


def test_what_check_finds_is_in_the_golden_file() -> None:
    by_migrator = known_config(**PRESET).with_ids({"dc1": "id-1", "dc2": "id-2"})
    lines = [
        "# Headers",
        *of_mirrors(HEADERS, "mirror headers"),
        "\n# Topics, and other mirrors",
        *of_mirrors(TOPICS, "topics", "partitions", "MirrorMaker", "other mirrors"),
        "\n# Headers of Redpanda Migrator",
    ]
    for headers in (REDPANDA, {**REDPANDA, "redpanda-migrator-provenance": b"id-0"}, MIRRORED):
        found = told(by_migrator, asked(by_migrator, {"dc1": {}, "dc2": {"orders": of(headers)}}))["clusters.dc2"]
        lines += [f"\n{headers}", *(f"  {line}" for line in found if " mirror headers: " in line)]
    expect("check.txt", "\n".join([*lines, "\n# Rights and settings", *of_facts()]))
