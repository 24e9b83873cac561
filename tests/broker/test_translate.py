"""``translate`` on real brokers: its answers against what stands in the logs, and a query of Spark that moves by it.

Both clusters produce into the same partitions and are mirrored into each other, so their logs cross.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import subprocess
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import offset_sync
from broker.crafted_logs import Clusters, Headers, Stamp, create_topics, write_log
from broker.installation import _SHORT_LIVED, REPO, Installation, install
from broker.log_contents import Record, read_records
from offset_sync.config import load_config
from offset_sync.jobs.runner import job_arguments
from offset_sync.jobs.translate import translate, translate_arguments
from offset_sync.model.errors import ConfigError
from oracles.translation import LogRecord

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

CROSSED, ONLY_THERE, PARTITIONS = "kept-crossed", "kept-only-on-dc1", 2
ORIGINS = {"dc1": "dc1", "dc2": "dc2"}
NOT_DONE = "this micro-batch is not to be done"


def crossed_logs(seed: int, steps: int = 60) -> dict[str, list[LogRecord]]:
    """Two logs, each with the records of both clusters, the other's a while later."""
    rng, logs = random.Random(seed), {"dc1": list[LogRecord](), "dc2": list[LogRecord]()}
    waiting = {"dc1": list[LogRecord](), "dc2": list[LogRecord]()}
    for step in range(steps):
        alias = rng.choice(("dc1", "dc2"))
        other = "dc2" if alias == "dc1" else "dc1"
        if step < steps * 2 // 3 and rng.random() < 0.6:
            logs[alias].append(LogRecord(len(logs[alias]), alias, len(logs[alias])))
            waiting[other].append(logs[alias][-1])
        elif waiting[alias]:
            copied = waiting[alias].pop(0)
            logs[alias].append(LogRecord(len(logs[alias]), copied.origin, copied.origin_offset))
    return logs


class PlainStamp(Stamp):
    """Headers that a plain reader understands."""

    def decorated(self, headers: Headers, number: int) -> Headers:
        return headers

    def native(self, number: int) -> Headers:
        return []


@dataclass(frozen=True)
class Kept:
    """*logs* are what really stands in the crossed topic's logs, by cluster and partition."""

    clusters: Clusters
    installation: Installation
    logs: Mapping[tuple[str, int], list[Record]]

    def log(self, alias: str, partition: int) -> list[Record]:
        return self.logs[alias, partition]

    def run(self, *words: str, source: str = "dc1", target: str = "dc2") -> list[str]:
        """Run the command in this process; return its failures."""
        parser = translate_arguments(job_arguments("translate", has_once=False))
        arguments = parser.parse_args(["--conf", "x", "--from", source, "--to", target, *words])
        return list(translate(load_config(self.installation.config_file), arguments, threading.Event()))

    def first_unread(self, partition: int, offset: int, source: str, target: str) -> int:
        """Return where the first record stands that was not read below *offset*, by contents."""
        read = {each.identity for each in self.log(source, partition) if each.offset < offset}
        there = self.log(target, partition)
        end = there[-1].offset + 1
        return next((each.offset for each in there if each.identity not in read), end)


@pytest.fixture(scope="module")
def kept(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    logs = [crossed_logs(seed) for seed in range(PARTITIONS)]
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {CROSSED: PARTITIONS})
        write_log(
            clusters[alias], {(CROSSED, number): logs[number][alias] for number in range(PARTITIONS)}, PlainStamp()
        )
    create_topics(clusters["dc1"], {ONLY_THERE: 1})
    write_log(clusters["dc1"], {(ONLY_THERE, 0): [LogRecord(0, "dc1", 0)]})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("kept"), servers, ["kept-.*"])
    assert installation.index() == []
    places = [(alias, number) for alias in ORIGINS for number in range(PARTITIONS)]
    return Kept(
        clusters,
        installation,
        {(alias, number): read_records(clusters[alias], (CROSSED, number), ORIGINS) for alias, number in places},
    )


def every_offset(kept: Kept, source: str) -> list[tuple[int, int]]:
    return [(number, offset) for number in range(PARTITIONS) for offset in range(len(kept.log(source, number)) + 1)]


@pytest.mark.parametrize(("source", "target"), [("dc1", "dc2"), ("dc2", "dc1")])
def test_every_answer_is_the_first_record_that_is_not_read_by_contents(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str
) -> None:
    asked = every_offset(kept, source)
    file = tmp_path / "offsets.csv"
    file.write_text("sink,topic,offset,partition\n" + "".join(f'"s,{p}",{CROSSED},{o},{p}\n' for p, o in asked))
    capsys.readouterr()
    assert kept.run("--file", str(file), "--format", "csv", source=source, target=target) == []
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(int(row["partition"]), int(row["offset"]), row["sink"]) for row in rows] == [
        (partition, offset, f"s,{partition}") for partition, offset in asked
    ]
    assert [int(row["target_offset"]) for row in rows] == [
        kept.first_unread(partition, offset, source, target) for partition, offset in asked
    ]


def test_a_withheld_line_is_a_failure_with_its_reason_in_every_format(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = len(kept.log("dc1", 0))
    file = tmp_path / "offsets.csv"
    file.write_text(f"topic,partition,offset\n{ONLY_THERE},0,1\n{CROSSED},0,{end + 1}\nother,0,1\n{CROSSED},0,0\n")
    wanted = [("TOPIC_MISSING", None), ("COMMIT_BEYOND_END", None), ("TOPIC_NOT_INCLUDED", None), ("EXACT", 0)]
    for form in ("json", "table"):
        capsys.readouterr()
        (failure,) = kept.run("--file", str(file), "--format", form)
        assert failure.startswith("3 of 4 offsets are withheld: TOPIC_MISSING 1, COMMIT_BEYOND_END 1")
        text = capsys.readouterr().out
        if form == "json":
            rows = [json.loads(line) for line in text.splitlines()]
            assert [(row["state"], row["target_offset"]) for row in rows] == wanted
            assert [row["reason"] is None for row in rows] == [False, False, False, True]
        else:
            assert f"there is no topic {ONLY_THERE} at dc2" in " ".join(text.split())


def test_without_the_source_the_answers_are_the_same(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    tree = kept.installation.config_file.read_text()
    server = kept.clusters["dc1"].bootstrap_servers
    gone = replace(kept, installation=Installation(kept.installation.folder / "gone"))
    gone.installation.folder.mkdir(exist_ok=True)
    gone.installation.config_file.write_text(tree.replace(server, "127.0.0.1:1"))
    words = ("--topic", CROSSED, "--partition", "1", "--offset", "9", "--format", "json")
    capsys.readouterr()
    assert gone.run(*words, "--disaster") == []
    assert json.loads(capsys.readouterr().out)["target_offset"] == kept.first_unread(1, 9, "dc1", "dc2")
    assert gone.run(*words) == ["1 of 1 offsets are withheld: CLUSTER_UNREACHABLE 1"]
    assert "--disaster" in json.loads(capsys.readouterr().out)["reason"]


def test_the_function_gives_the_same_answers(kept: Kept) -> None:
    conf, asked = kept.installation.config_file, every_offset(kept, "dc1")
    rows = [{"topic": CROSSED, "partition": p, "offset": o, "job": o * 0.5} for p, o in asked]
    found = offset_sync.translate_offsets(conf, ("dc1", "dc2"), rows)
    assert found.column_names[:4] == ["topic", "partition", "offset", "job"]
    assert found.column("job").to_pylist() == [offset * 0.5 for _, offset in asked]
    wanted = [kept.first_unread(partition, offset, "dc1", "dc2") for partition, offset in asked]
    assert found.column("target_offset").to_pylist() == wanted
    by_topic = offset_sync.translate_offsets(conf, ("dc1", "dc2"), {CROSSED: {"0": 5, "1": 7}})
    assert by_topic.column("target_offset").to_pylist() == [wanted[asked.index(each)] for each in ((0, 5), (1, 7))]
    assert offset_sync.translate_offsets(conf, ("dc1", "dc2"), []).num_rows == 0
    with pytest.raises(ConfigError, match="line 1: offset '-1'"):
        offset_sync.translate_offsets(conf, ("dc1", "dc2"), {CROSSED: {0: -1}})


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
    assert f"{planned} is planned and not done" in said.err
    ends = json.loads((tmp_path / "dc1" / "offsets" / str(done)).read_text().splitlines()[2])[CROSSED]
    offsets = json.loads(said.out)
    assert offsets == {CROSSED: {p: kept.first_unread(int(p), end, "dc1", "dc2") for p, end in ends.items()}}
    again = read_by_query(kept, "dc2", tmp_path / "dc2", startingOffsets=said.out.strip())
    for number in range(PARTITIONS):
        there = {each.offset: each.identity for each in kept.log("dc2", number)}
        read = {each.identity for each in kept.log("dc1", number) if each.offset < ends[str(number)]}
        assert set(there.values()) - read <= {there[offset] for partition, offset in again if partition == number}


def test_the_examples_of_the_manual_run_as_they_stand(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the names of the files, the topic and the cluster."""
    read_by_query(kept, "dc1", tmp_path / "dc1")
    text = (REPO / "docs" / "operations.md").read_text().partition("# Offsets that live elsewhere")[2]
    of_spark, function = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
    names = {'"my.yaml"': repr(str(kept.installation.config_file)), '"checkpoint"': repr(str(tmp_path / "dc1"))}
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


def process(kept: Kept, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [str(REPO / "spark-submit.sh"), "translate", *_SHORT_LIVED, "--conf", str(kept.installation.config_file)]
    command += ["--from", "dc1", "--to", "dc2", *words]
    return subprocess.run(command, input=given, capture_output=True, env=dict(os.environ), timeout=600, check=False)


def test_the_exit_code_tells_what_came_of_it(kept: Kept) -> None:
    lines = f"topic,partition,offset\n{CROSSED},0,4\n{ONLY_THERE},0,1\n".encode()
    done = process(kept, "--file", "-", "--format", "csv", given=lines)
    assert done.returncode == 1, done.stderr.decode()
    header, answered, withheld = done.stdout.decode().splitlines()
    assert header == "topic,partition,offset,target_offset,state,duplicates,duplicates_at_most,lost,reason"
    assert answered.startswith(f"{CROSSED},0,4,{kept.first_unread(0, 4, 'dc1', 'dc2')},EXACT,")
    assert withheld.startswith(f"{ONLY_THERE},0,1,,TOPIC_MISSING,,,,")
    assert b"1 of 2 offsets are withheld: TOPIC_MISSING 1" in done.stderr
    for words, said in (
        (("--topic", CROSSED), b"name the offsets"),
        (("--file", "-", "--offset", "1"), b"name the offsets"),
        (("--topic", CROSSED, "--partition", "0", "--offset", "x"), b"--offset 'x' is no number"),
        (("--file", "-", "--taken-at", "noon"), b"--taken-at 'noon' is no time"),
        (("--file", "-", "--format", "spark"), b"--format spark goes with --spark-checkpoint"),
        (("--file", "-"), b"line 2: offset 'x'"),
        (("--file", "-", "--to", "dc3"), b"--from dc1 --to dc3: not a direction"),
    ):
        bad = process(kept, *words, given=b"topic,partition,offset\norders,0,x\n")
        assert (bad.returncode, bad.stdout) == (2, b"")
        assert said in bad.stderr, bad.stderr.decode()
