"""What the documentation says about Delta's log stores is what the Delta that is pinned here does."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

import log_store
from offset_sync.tables.delta import lock

REPO = Path(__file__).resolve().parents[4]
KERNEL_CHOICE = "io/delta/kernel/defaults/internal/logstore/LogStoreProvider.class"
SPARK_CHOICE = "org/apache/spark/sql/delta/storage/DelegatingLogStore$.class"


def said_by(jar: str, entry: str) -> str:
    """Return the constants of a class, as text; skips where the jars are not set up."""
    found = sorted((REPO / "jars" / "spark").glob(jar))
    if not found:
        pytest.skip("no jars/spark; make install fetches them")
    with zipfile.ZipFile(found[0]) as archive:
        return archive.read(entry).decode("latin-1")


@pytest.mark.parametrize(
    ("jar", "entry"), [("delta-kernel-defaults-*.jar", KERNEL_CHOICE), ("delta-spark_*.jar", SPARK_CHOICE)]
)
def test_delta_takes_a_log_store_for_one_driver_on_s3_and_none_that_locks_among_several(jar: str, entry: str) -> None:
    constants = said_by(jar, entry)
    assert "io/delta/storage/S3SingleDriverLogStore" in constants
    assert "DynamoDB" not in constants


def test_the_setting_for_delta_kernel_is_the_documented_one() -> None:
    constants = said_by("delta-kernel-defaults-*.jar", KERNEL_CHOICE)
    assert "io.delta.kernel.logStore." in constants
    text = (REPO / "docs" / "operations.md").read_text()
    assert "`spark.hadoop.io.delta.kernel.logStore.s3a.impl`" in text
    assert "`spark.delta.logStore.s3a.impl`" in text


@pytest.mark.parametrize("text", [lock.__doc__ or "", (REPO / "docs" / "design" / "tables.md").read_text()])
def test_nobody_says_that_s3_refuses_to_replace(text: str) -> None:
    words = re.sub(r"\s+", " ", text)
    assert "S3DynamoDBLogStore" in words
    refusing = [
        sentence for sentence in words.split(". ") if re.search(r"refuse to replace|HDFS, ABFS and GCS do", sentence)
    ]
    assert refusing
    assert [sentence for sentence in refusing if re.search(r"S3|object stores", sentence)] == []


def test_the_jars_of_spark_have_a_log_store_that_puts_only_where_there_is_nothing() -> None:
    constants = said_by(log_store.NAME, "offsetsync/S3LogStore.class")
    assert "fs.option.create.conditional.overwrite" in constants
    assert "io/delta/storage/S3SingleDriverLogStore" in constants


def test_they_have_checkpoints_that_start_no_processes() -> None:
    constants = said_by(log_store.NAME, "offsetsync/LocalCheckpoints.class")
    assert "ATOMIC_MOVE" in constants
    assert "FileContextBasedCheckpointFileManager" in constants
