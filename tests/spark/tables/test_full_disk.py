"""A disk that is full, wherever in a micro-batch it happens: an error, and with room again all goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from tools.small_disk import SmallDisk, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small") as made:
        yield made


def run(start: int) -> pa.Table:
    row: dict[str, Any] = dict.fromkeys(RECORD_RUNS.names) | {"topic": "orders", "partition": 0, "start_offset": start}
    return pa.Table.from_pylist([row], RECORD_RUNS.arrow_schema)


def test_a_query_goes_on_when_there_is_room_again_and_every_value_is_there_once(
    spark: SparkSession, disk: SmallDisk
) -> None:
    tables, folder = TableStore(str(disk.folder / "tables")), disk.folder / "query"
    tables.create([RECORD_RUNS])

    def take(batch: DataFrame, batch_id: int) -> None:
        name = Checkpoint(Files(), str(folder)).query_id()
        rows = [run(row.value) for row in batch.orderBy("value").collect()]
        tables.append(RECORD_RUNS, pa.concat_tables(rows), (name, batch_id))

    def go_on() -> str:
        Checkpoint(Files(), str(folder)).repair()
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
        writer = source.writeStream.foreachBatch(take).option("checkpointLocation", str(folder))
        try:
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination(60)
        except Exception as problem:
            return str(problem)
        return ""

    go_on()
    said = []
    for pages in range(0, 10, 2):
        disk.leave(pages)
        said.append(go_on())
        disk.clear()
        assert go_on() == ""
    assert "No space left on device" in said[0]
    rows = spark.read.format("delta").load(tables.path(RECORD_RUNS)).collect()
    values = sorted(row.start_offset for row in rows)
    assert values == list(range(len(values)))
