"""Input that clients can send and should not, through real brokers: names, lying headers, times, commits.

Every topic has ten records at dc2, of which dc1 has what its own headers say.
"""

from __future__ import annotations

from pathlib import Path

import deltalake
import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import install
from broker.raw_records import RawRecord, allow_any_time, write_raw
from builders.offset_records import commit_key, commit_value
from offset_sync.model.text import escaped

pytestmark = pytest.mark.timeout(600)

PLAIN, FAR, LYING = "odd-plain", "odd-times", "odd-lying"
OFFSETS = "__consumer_offsets"
HEALTHY = "odd-healthy"
# The client library ends a group id at its first NUL, so that one is written into the log itself.
NUL_GROUP, LARGE_GROUP, LATE_GROUP = "odd-\0nul", "odd-" + "g" * 32_000, "odd-late"
CRAFTED = {NUL_GROUP: 3, LARGE_GROUP: 4}
NO_TIME = 2**63 - 1
LAST_MS = NO_TIME // 1000
TIMES = [None, LAST_MS, -1, LAST_MS + 1, None, NO_TIME, 1_700_000_000_000_000_000, 1, None, None, NO_TIME, None]


def copy_of(offset: int) -> Headers:
    return [("IDC", b"dc2"), ("Offset", b"%d" % offset)]


BROKEN: list[tuple[bytes | None, bytes | None]] = [
    (commit_key("odd-broken", PLAIN, 0), b""),
    (commit_key("odd-broken", PLAIN, 0), commit_value(5, version=99)),
    (commit_key("odd-broken", PLAIN, 0), commit_value(5)[:-3]),
    (b"\0\1\x7f\xff", commit_value(5)),
    (commit_key("odd-\xff".encode("latin-1"), PLAIN, 0), commit_value(5)),
]


def copies(count: int) -> list[RawRecord]:
    return [RawRecord(TIMES[n], copy_of(n)) for n in range(count)]


def write_topics(clusters: Clusters) -> None:
    for cluster in clusters.values():
        create_topics(cluster, dict.fromkeys((PLAIN, FAR, LYING), 1))
        allow_any_time(cluster, [FAR])
    for topic in (PLAIN, LYING):
        write_raw(clusters["dc2"], (topic, 0), [RawRecord() for _ in range(10)])
    write_raw(clusters["dc2"], (FAR, 0), [RawRecord(time) for time in TIMES[:10]])
    write_raw(clusters["dc1"], (PLAIN, 0), [RawRecord(None, copy_of(n)) for n in range(10)])
    write_raw(clusters["dc1"], (FAR, 0), copies(7))
    write_raw(clusters["dc1"], (LYING, 0), [RawRecord(None, copy_of(n)) for n in (*range(5), 1_000_000)])


def commit_all(clusters: Clusters) -> int:
    """Commit for all groups at dc1; return at which offset of the log the commit of an impossible time is."""
    commit(clusters["dc1"], {HEALTHY: {(PLAIN, 0): 6, (FAR, 0): 5, (LYING, 0): 6}})
    records = [RawRecord(NO_TIME, (), key, value) for key, value in BROKEN]
    records += [RawRecord(None, (), commit_key(name, PLAIN, 0), commit_value(n)) for name, n in CRAFTED.items()]
    allow_any_time(clusters["dc1"], [OFFSETS])
    write_raw(clusters["dc1"], (OFFSETS, 1), records)
    late = RawRecord(NO_TIME, (), commit_key(LATE_GROUP, FAR, 0), commit_value(6))
    return write_raw(clusters["dc1"], (OFFSETS, 0), [late])[0]


def test_healthy_groups_are_answered_beside_odd_records_and_commits_which_are_named(
    soiled_clusters: Clusters, spark_environment: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dc1, dc2 = soiled_clusters["dc1"], soiled_clusters["dc2"]
    write_topics(soiled_clusters)
    installation = install(tmp_path, soiled_clusters, ["odd-.*"])
    late_at = commit_all(soiled_clusters)
    failures = [*installation.index(), *installation.sync()]
    assert [escaped(failure) for failure in failures] == [
        f"dc1 to dc2: 1 offsets not committed, first odd-\\u0000nul/{PLAIN}/0: clusters.dc2: group "
        "'odd-\\x00nul': the group id contains a NUL, which would name another group"
    ]
    # The queries go on afterwards, with what comes then.
    write_raw(dc2, (FAR, 0), [RawRecord(time) for time in TIMES[10:]])
    write_raw(dc1, (FAR, 0), copies(12)[7:])
    commit(dc1, {"odd-later": {(FAR, 0): 11}})
    installation.index()
    installation.sync()
    held = committed(dc2, [HEALTHY, LARGE_GROUP, "odd-later", LATE_GROUP, "odd-"])
    found = {group: {place[0]: each.offset for place, each in places.items()} for group, places in held.items()}
    assert found == {
        HEALTHY: {PLAIN: 6, FAR: 5, LYING: 5},  # what was not mirrored is unread, whatever a header says
        LARGE_GROUP: {PLAIN: 4},
        "odd-later": {FAR: 11},
        LATE_GROUP: {FAR: 6},
        "odd-": {},
    }
    assert len(installation.rows("quarantine", cluster="dc1", topic=OFFSETS)) == len(BROKEN)
    (row,) = installation.rows("quarantine", topic=LYING)
    error = "origin offset 1000000: not in the log of dc2, which ends or was cut at 10"
    assert (row["offset"], row["error"]) == (5, error)
    # Without the times: Python has none for them.
    table = deltalake.DeltaTable(tmp_path / "tables" / "record_runs")
    runs = table.to_pyarrow_table(columns=["cluster", "topic", "length"]).to_pylist()
    lines = [record.getMessage() for record in caplog.records]
    for alias in ("dc1", "dc2"):
        assert sum(row["length"] for row in runs if (row["cluster"], row["topic"]) == (alias, FAR)) == len(TIMES)
        named = [line for line in lines if f"clusters.{alias}: odd-" in line]
        assert any("ms, which Spark cannot hold: it counts as 9223372036854775" in line for line in named), lines
    assert any(f"{OFFSETS}-0 offset {late_at} has the time {NO_TIME} ms" in line for line in lines)
