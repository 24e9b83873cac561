"""Fingerprints that nobody needs are removed once the mirror cannot send their records again, and no others."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.ingest.kept_alignments import Kept, KeptAlignments
from offset_sync.jobs.retire_fingerprints import retire_fingerprints
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECREATED
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from offset_sync.translate.fingerprint.aligner import AlignerState
from offset_sync.translate.fingerprint.reach import Reach

pytestmark = pytest.mark.spark
NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
OLD, YOUNG = NOW - timedelta(hours=2), NOW - timedelta(minutes=30)
COPIES, FORMER = ClusterPartition("dc2", "dc1.orders", 0), ClusterPartition("dc1", "dc2.orders", 0)
"""By its stream, which is also what the cluster calls it; the other was made anew since it was aligned."""


def row(cluster: str, topic: str, start: int, read_at: datetime) -> dict[str, Any]:
    place = {"cluster": cluster, "topic": topic, "partition": 0, "start_offset": start, "length": 10}
    return place | {"offsets": None, "fingerprints": b"\0" * 80, "read_at": read_at}


ROWS = [
    row(cluster, topic, start, read_at)
    for cluster, topic in (("dc1", "orders"), ("dc2", "dc1.orders"), ("dc2", "orders"), ("dc1", "dc2.orders"))
    for start, read_at in ((0, OLD), (10, OLD), (20, YOUNG), (30, YOUNG))
]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    places = {"root": str(tmp_path / "tables"), "checkpoints": str(tmp_path / "checkpoints")}
    return config_of(["dc1", "dc2"], mirror={"identity": "fingerprint", "names": "mm2"}, tables=places)


def left(tables: TableStore) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for each in tables.all_rows(RECORD_FINGERPRINTS).sort_by("start_offset").to_pylist():
        found.setdefault((each["cluster"], each["topic"]), []).append(each["start_offset"])
    return found


def test_what_is_needed_or_young_stays(spark: SparkSession, config: Config) -> None:
    tables = TableStore(spark, config.tables.root, names=config.names)
    plain = TableStore(spark, config.tables.root)
    tables.create([RECORD_FINGERPRINTS, LOG_INCARNATIONS])
    plain.append(RECORD_FINGERPRINTS, pa.Table.from_pylist(ROWS, RECORD_FINGERPRINTS.arrow_schema))
    state = AlignerState(40, Reach(0, 60, 15))
    states = {COPIES: Kept(state, 0), FORMER: Kept(state, 0), COPIES._replace(cluster="gone"): Kept(state, 0)}
    KeptAlignments(tables.files, config.tables.checkpoints).write(states)
    life = {**FORMER._asdict(), "topic_id": "2", "begins_at": 0, "reason": RECREATED, "noticed_at": OLD}
    tables.append(LOG_INCARNATIONS, pa.Table.from_pylist([life], LOG_INCARNATIONS.arrow_schema))
    maintainer = Maintainer(spark, timedelta(hours=2))
    maintainer.prepare(tables.path(RECORD_FINGERPRINTS), RECORD_FINGERPRINTS)
    assert retire_fingerprints(config, tables, maintainer, NOW) == 3
    assert left(plain) == {
        ("dc1", "orders"): [10, 20, 30],  # from 15 on
        ("dc2", "dc1.orders"): [20, 30],  # all are decided, and two are young
        ("dc2", "orders"): [0, 10, 20, 30],  # with all of these it is aligned
        ("dc1", "dc2.orders"): [0, 10, 20, 30],  # not aligned yet in its present life
    }
    assert retire_fingerprints(config, tables, maintainer, NOW) == 0


def test_where_headers_tell_nothing_is_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    config = config_of(["dc1", "dc2"], tables={"root": str(tmp_path / "t"), "checkpoints": str(tmp_path / "c")})
    tables = TableStore(spark, config.tables.root)
    assert retire_fingerprints(config, tables, Maintainer(spark, timedelta(hours=2)), NOW) == 0
