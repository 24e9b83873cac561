"""Checkpoints that are kept by our class: the files are Spark's, and no process is started for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.jvm import JavaError, java
from offset_sync.tables.delta.local_checkpoints import start_no_processes

_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_OURS = "offsetsync.LocalCheckpoints"
_CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.conf.unset(_SETTING)


def write(folder: Path, name: str, text: str, *, replaces: bool) -> None:
    """Write a file as Spark writes those of a checkpoint, by our class."""
    path = java("org.apache.hadoop.fs.Path")
    manager = java(_OURS)(path(folder.as_uri()), java("org.apache.hadoop.conf.Configuration")())
    stream = manager.createAtomic(path(f"{folder.as_uri()}/{name}"), replaces)
    stream.write(text.encode())
    stream.close()


def test_a_file_is_there_whole_and_nothing_beside_it(session: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a b", "plan", replaces=False)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a b": "plan"}


def test_what_is_there_is_replaced_only_where_that_is_asked_for(session: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "7", "one", replaces=False)
    with pytest.raises(JavaError, match=r"org.apache.hadoop.fs.FileAlreadyExistsException"):
        write(tmp_path, "7", "two", replaces=False)
    assert (tmp_path / "7").read_text() == "one"
    write(tmp_path, "7", "three", replaces=True)
    assert (tmp_path / "7").read_text() == "three"


def test_a_query_keeps_its_checkpoint_by_it(session: SparkSession, tmp_path: Path) -> None:
    folder, seen = tmp_path / "checkpoint", list[int]()

    def run() -> None:
        rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        writer = rows.writeStream.option("checkpointLocation", str(folder))
        writer = writer.foreachBatch(lambda _, batch_id: seen.append(batch_id))
        writer.trigger(availableNow=True).start().awaitTermination(60)

    run()  # as Spark has it
    start_no_processes(session, HadoopFiles(session), str(folder))
    assert session.conf.get(_SETTING) == _OURS
    run()
    assert seen == list(range(len(seen)))
    names = {each.name for each in folder.rglob("*") if each.is_file()}
    assert names == {"metadata", *map(str, seen)}


def test_elsewhere_and_where_the_user_has_one_all_stays_as_it_is(session: SparkSession) -> None:
    start_no_processes(session, HadoopFiles(session), "s3a://bucket/checkpoints")
    assert session.conf.get(_SETTING, None) is None
    session.conf.set(_SETTING, "org.example.Own")
    start_no_processes(session, HadoopFiles(session), "/tmp/checkpoints")
    assert session.conf.get(_SETTING) == "org.example.Own"
