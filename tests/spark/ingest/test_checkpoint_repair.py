"""Checkpoints of real queries as a power failure leaves them: after the repair Spark goes on and leaves nothing out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.model.errors import TableError
from offset_sync.tables.files import Files

DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(b"\0" * 100),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-1]),
}


class Reader:
    """Runs a query of numbers, one micro-batch at a time, over the checkpoint in *folder*."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.read: list[tuple[str, int, list[int]]] = []  # by which query, in which batch

    def run(self) -> None:
        def take(batch: DataFrame, batch_id: int) -> None:
            name = Checkpoint(Files(), str(self.folder)).query_id()
            self.read.append((name, batch_id, sorted(row.value for row in batch.collect())))

        source = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
        writer = source.writeStream.foreachBatch(take).option("checkpointLocation", str(self.folder))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(60)
        assert query.exception() is None

    def repair(self) -> None:
        Checkpoint(Files(), str(self.folder)).repair()


@pytest.fixture
def reader(spark: SparkSession, tmp_path: Path) -> Reader:
    made = Reader(spark, tmp_path / "query")
    for _ in range(3):
        made.run()
    assert [batch_id for _, batch_id, _ in made.read] == [0, 1, 2]
    return made


def damage(reader: Reader, kind: str, *names: str) -> None:
    for name in names:
        DAMAGE[kind](reader.folder / name)


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_newest_plan_is_recreated_by_what_the_tables_take_for_another_query(reader: Reader, kind: str) -> None:
    (reader.folder / "commits" / "2").unlink()  # it was under way
    damage(reader, kind, "offsets/2")
    reader.repair()
    reader.run()
    (*_, before, after) = reader.read
    assert (after[1], after[2][:2]) == (2, before[2][:2]), "from where the one before has ended"
    assert after[0] != before[0]


def test_a_micro_batch_whose_end_was_not_stored_is_repeated_as_it_was_planned(reader: Reader) -> None:
    damage(reader, "empty", "commits/2")
    reader.repair()
    reader.run()
    assert reader.read[3] == reader.read[2]


@pytest.mark.parametrize("names", [["offsets/1"], ["offsets/1", "offsets/2"]], ids=" ".join)
def test_an_older_plan_is_refused_by_name_with_what_to_do_and_stays(reader: Reader, names: list[str]) -> None:
    damage(reader, "empty", *names)
    with pytest.raises(
        TableError, match="offsets/1: empty or truncated, and later files depend on it; delete the folder"
    ):
        reader.repair()
    assert (reader.folder / "offsets" / "2").exists()


def test_what_is_whole_stays_as_it_is_and_says_who_the_query_is_and_how_far_it_has_come(reader: Reader) -> None:
    """Its files have the form that ``tests/unit/ingest/test_checkpoint.py`` writes by hand."""

    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in reader.folder.rglob("*") if path.is_file()}

    before, checkpoint = content(), Checkpoint(Files(), str(reader.folder))
    reader.repair()
    assert content() == before
    version, batch, end = (reader.folder / "offsets" / "2").read_text().split("\n")
    assert version == "v1"
    assert "batchTimestampMs" in json.loads(batch)
    assert json.loads(end)
    assert {name for name, *_ in reader.read} == {checkpoint.query_id()}
    assert checkpoint.last_committed() == 2
    assert abs((checkpoint.last_sign_ms() or 0) - time.time() * 1000) < 600_000
    (reader.folder / "offsets" / "2").write_text("v2\nof another version of Spark")
    reader.repair()
    assert (reader.folder / "offsets" / "2").exists()
