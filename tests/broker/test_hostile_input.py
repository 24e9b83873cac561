"""Input that clients can send and should not, through real brokers: names, metadata, headers, times, broken commits.

A healthy group beside all that is answered as ever, and no line of a log can be forged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import Installation, install
from broker.raw_records import RawRecord, allow_any_time, write_raw
from broker.raw_requests import commit_as_simple_consumer
from builders.offset_records import commit_key, commit_value
from offset_sync.jobs.log_format import TextLines
from offset_sync.model.text import escaped

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

TOPIC, HEADED = "hostile-plain", "hostile-headers"
OFFSETS = "__consumer_offsets"
HEALTHY = "hostile-healthy"
ESC, LONG = "\x1b[31mred\x1b[0m", "n" * 4_000
# The client library ends a group id at its first NUL, so that one is written into the log itself.
NAMES = {
    "lines": "hostile\n2026-01-01 ERROR offset_sync forged",
    "ansi": f"hostile-{ESC}",
    "turned": "hostile-\u202egnirts",
    "long": f"hostile-{LONG}",
    "quoted": "hostile-'\"\\;--",
}
METADATA = {"lines": "a\nb\r\nc", "ansi": ESC, "turned": "\u202e", "long": "m" * 4_096, "quoted": "\u0000 'x' \\"}
NUL_GROUP, LARGE_GROUP = "hostile-\0nul", "hostile-" + "g" * 32_000
NO_TIME, NEGATIVE, HUGE = 2**63 - 1, -1, b"9" * 900_000
CRAFTED = {NUL_GROUP: 3, LARGE_GROUP: 4}


def copy_of(offset: int, *before: tuple[str, bytes | None]) -> Headers:
    return [*before, ("IDC", b"dc2"), ("Offset", b"%d" % offset)]


HEADERS: list[tuple[int | None, Headers]] = [
    (NO_TIME, copy_of(0)),
    (NEGATIVE, copy_of(1, *[("IDC", b"elsewhere"), ("Offset", b"77")] * 500)),  # repeated: the last one counts
    (None, copy_of(2, ("trace", HUGE))),
    (0, [("IDC", b"dc2"), ("Offset", b"-3")]),
    (None, [("IDC", b"dc2"), ("Offset", HUGE)]),
    (None, [("IDC", HUGE), ("Offset", b"5")]),
    (None, [("IDC", b"dc2\n\x1b[31m"), ("Offset", b"6")]),
    (NO_TIME, copy_of(7)),
]
BROKEN: list[tuple[bytes | None, bytes | None]] = [
    (commit_key("hostile-broken", TOPIC, 0), b""),
    (commit_key("hostile-broken", TOPIC, 0), commit_value(5, version=99)),
    (commit_key("hostile-broken", TOPIC, 0), commit_value(5)[:-3]),
    (b"\0\1\x7f\xff", commit_value(5)),
    (commit_key("hostile-\xff".encode("latin-1"), TOPIC, 0), commit_value(5)),
]


@dataclass(frozen=True)
class Hostile:
    """Every topic has ten records at dc2; of the plain one all are at dc1, of the other what the headers say."""

    clusters: Clusters
    installation: Installation
    lines: list[str]
    failures: list[str]

    def offset(self, group: str, topic: str = TOPIC) -> int | None:
        value = committed(self.clusters["dc2"], [group])[group].get((topic, 0))
        return None if value is None else value.offset

    def said(self, group: str) -> list[tuple[str, str, int | None]]:
        rows = self.installation.translations(group_id=group, source_cluster="dc1", target_cluster="dc2")
        return [(row["state"], row["outcome"], row["target_offset"]) for row in rows]


def write_topics(clusters: Clusters) -> None:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1, HEADED: 1})
        allow_any_time(clusters[alias], [HEADED])
    for topic in (TOPIC, HEADED):
        write_raw(clusters["dc2"], (topic, 0), [RawRecord() for _ in range(10)])
    write_raw(clusters["dc1"], (TOPIC, 0), [RawRecord(None, copy_of(n)) for n in range(10)])
    write_raw(clusters["dc1"], (HEADED, 0), [RawRecord(time, headers) for time, headers in HEADERS])


def commit_all(clusters: Clusters) -> None:
    place: Partition = (TOPIC, 0)
    commit(clusters["dc1"], {name: {place: (6, METADATA[kind])} for kind, name in NAMES.items()})
    commit(clusters["dc1"], {HEALTHY: {place: 6, (HEADED, 0): 8}})
    assert commit_as_simple_consumer(clusters["dc1"], "", place, 6) == 0
    records = [RawRecord(NO_TIME, (), key, value) for key, value in BROKEN]
    records += [RawRecord(None, (), commit_key(name, TOPIC, 0), commit_value(n)) for name, n in CRAFTED.items()]
    allow_any_time(clusters["dc1"], [OFFSETS])
    write_raw(clusters["dc1"], (OFFSETS, 1), records)


@pytest.fixture(scope="module")
def hostile(soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    write_topics(soiled_clusters)
    servers = {alias: soiled_clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("hostile"), servers, ["hostile-.*"])
    commit_all(soiled_clusters)
    lines: list[str] = []
    heard, text = logging.Handler(), TextLines("%(message)s")
    heard.emit = lambda record: lines.append(text.format(record))  # type: ignore[method-assign]
    logging.getLogger("offset_sync").addHandler(heard)
    try:
        assert installation.index() == []
        failures = installation.sync()
    finally:
        logging.getLogger("offset_sync").removeHandler(heard)
    return Hostile(soiled_clusters, installation, lines, failures)


def test_a_healthy_group_is_answered_as_ever(hostile: Hostile) -> None:
    assert hostile.offset(HEALTHY) == 6


@pytest.mark.parametrize("kind", NAMES)
def test_a_group_with_an_odd_name_and_odd_metadata_is_answered_too(hostile: Hostile, kind: str) -> None:
    assert hostile.offset(NAMES[kind]) == 6


def test_a_name_that_no_request_can_carry_is_refused_by_itself_and_named(hostile: Hostile) -> None:
    (failure,) = hostile.failures
    assert escaped(failure) == (
        "dc1 to dc2: 1 offsets not committed, first hostile-\\u0000nul/hostile-plain/0: clusters.dc2: group "
        "'hostile-\\x00nul': the group id contains a NUL, which would name another group"
    )
    assert hostile.said(NUL_GROUP) == [("EXACT", "FAILED", 3)]
    assert hostile.offset("hostile-") is None


def test_a_name_of_32_kb_is_answered_as_any_other(hostile: Hostile) -> None:
    assert hostile.offset(LARGE_GROUP) == 4


def test_broken_commits_are_in_quarantine_and_the_stream_goes_on(hostile: Hostile) -> None:
    rows = hostile.installation.rows("quarantine", cluster="dc1", topic=OFFSETS)
    assert len(rows) == len(BROKEN)


def test_no_line_of_the_log_can_be_forged(hostile: Hostile) -> None:
    assert hostile.lines
    assert not [line for line in hostile.lines if "\x1b" in line or "\n" in line or "\0" in line or "\u202e" in line]


def test_an_empty_group_id_is_left_out_with_one_line_and_fails_nothing(hostile: Hostile) -> None:
    rows = hostile.installation.rows("offset_commits", cluster="dc1", group_id="")
    assert [row["committed_offset"] for row in rows] == [6]
    assert hostile.said("") == []
    assert len([line for line in hostile.lines if "empty group id" in line]) == 1
    assert not any("empty" in failure for failure in hostile.failures)
