"""Queries of Spark that move to the other cluster by what ``translate`` says of their checkpoints."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from broker.crafted_logs import Clusters
from broker.installation import REPO
from broker.kept_offsets import PARTITIONS, Kept, install_kept

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

CROSSED = "queried"
NOT_DONE = "this micro-batch is not to be done"


@pytest.fixture(scope="module")
def kept(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return install_kept(clusters, tmp_path_factory.mktemp("kept"), CROSSED)


def read_by_query(kept: Kept, alias: str, checkpoint: Path, **options: str) -> list[tuple[int, int]]:
    """Read what there is with a query of Spark's; return partition and offset of each record.

    With *maxOffsetsPerTrigger* it fails in a micro-batch that was planned, after some that are done.
    """
    spark, found = SparkSession.getActiveSession(), list[tuple[int, int]]()
    assert spark is not None

    def keep(batch: DataFrame, _number: int) -> None:
        found.extend((row["partition"], row["offset"]) for row in batch.select("partition", "offset").collect())
        if len(found) > 15 and "maxOffsetsPerTrigger" in options:
            raise ValueError(NOT_DONE)

    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kept.clusters[alias].bootstrap_servers)
    for name, value in {"subscribe": CROSSED, "startingOffsets": "earliest", **options}.items():
        source = source.option(name, value)
    writer = source.load().writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException, match=NOT_DONE) if "maxOffsetsPerTrigger" in options else nullcontext():
        assert query.awaitTermination(300)
    return found


def test_a_query_of_spark_goes_on_at_the_other_cluster_without_loss(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its last micro-batch fails after it was planned: what that one has read counts as unread."""
    read_by_query(kept, "dc1", tmp_path / "dc1", maxOffsetsPerTrigger="9")
    planned, done = (
        max(int(p.name) for p in (tmp_path / "dc1" / name).iterdir() if p.name.isdigit())
        for name in ("offsets", "commits")
    )
    assert planned == done + 1
    capsys.readouterr()
    assert kept.run("--spark-checkpoint", str(tmp_path / "dc1")) == []
    said = capsys.readouterr()
    assert f"{planned} is planned but not done" in said.err
    ends = json.loads((tmp_path / "dc1" / "offsets" / str(done)).read_text().splitlines()[2])[CROSSED]
    offsets = json.loads(said.out)
    assert offsets == {CROSSED: {p: kept.first_unread(int(p), end, "dc1", "dc2") for p, end in ends.items()}}
    again = read_by_query(kept, "dc2", tmp_path / "dc2", startingOffsets=said.out.strip())
    for number in range(PARTITIONS):
        there = {each.offset: each.identity for each in kept.log("dc2", number)}
        read = {each.identity for each in kept.log("dc1", number) if each.offset < ends[str(number)]}
        assert set(there.values()) - read <= {there[offset] for partition, offset in again if partition == number}


def test_the_examples_of_the_manual_run_unchanged(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the names of the files, the topic and the cluster."""
    read_by_query(kept, "dc1", tmp_path / "dc1")
    text = (REPO / "docs" / "operations.md").read_text().partition("# Offsets that live elsewhere")[2]
    of_spark, function = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
    names = {"my.yaml": str(kept.installation.config_file), " checkpoint": f" {tmp_path / 'dc1'}"}
    for old, new in (names | {'"orders"': repr(CROSSED)}).items():
        of_spark, function = of_spark.replace(old, new), function.replace(old, new)
    monkeypatch.chdir(REPO)
    known = {
        "subprocess": subprocess,
        "spark": SparkSession.getActiveSession(),
        "dc2": kept.clusters["dc2"].bootstrap_servers,
    }
    exec(of_spark, known)
    ends = {str(number): len(kept.log("dc1", number)) for number in range(PARTITIONS)}
    assert json.loads(known["offsets"]) == {
        CROSSED: {p: kept.first_unread(int(p), end, "dc1", "dc2") for p, end in ends.items()}
    }
    assert known["orders"].isStreaming
    exec(function, known)
    assert known["answers"].column("target_offset").to_pylist() == [kept.first_unread(0, 7, "dc1", "dc2")]
