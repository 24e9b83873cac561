"""``translate`` on real brokers: its answers against the contents of the logs.

Both clusters produce into the same partitions and are mirrored into each other, so their logs cross.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import offset_sync
from broker.crafted_logs import Clusters
from broker.installation import _SHORT_LIVED, REPO, Installation
from broker.kept_offsets import Kept, every_offset, install_kept
from offset_sync.model.errors import ConfigError

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

CROSSED, ONLY_THERE = "kept-crossed", "kept-crossed-only-on-dc1"


@pytest.fixture(scope="module")
def kept(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return install_kept(clusters, tmp_path_factory.mktemp("kept"), CROSSED)


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
            assert f"topic {ONLY_THERE} does not exist at dc2" in " ".join(text.split())


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


def test_the_examples_of_the_manual_run_unchanged(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the names of file and topic; the second micro-batch of the query is planned, and not done."""
    for number, end in ((0, 7), (1, 9)):
        (tmp_path / "checkpoint" / "offsets").mkdir(parents=True, exist_ok=True)
        plan = f'v1\n{{"batchTimestampMs":1}}\n{{"{CROSSED}":{{"0":{end}}}}}'
        (tmp_path / "checkpoint" / "offsets" / str(number)).write_text(plan)
    (tmp_path / "checkpoint" / "commits").mkdir()
    (tmp_path / "checkpoint" / "commits" / "0").write_text("v1\n{}")
    text = (REPO / "docs" / "operations.md").read_text().partition("# Offsets that live elsewhere")[2]
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]:
        known = {"Path": Path, "json": json, "translate_offsets": offset_sync.translate_offsets}
        names = {"my.yaml": str(kept.installation.config_file), '"orders"': repr(CROSSED)}
        for old, new in names.items():
            code = code.replace(old, new)
        exec(f"{code.rstrip()}\nfound = answers if isinstance(answers, list) else answers.to_pylist()", known)
        assert [each["target_offset"] for each in known["found"]] == [kept.first_unread(0, 7, "dc1", "dc2")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--topic", CROSSED), "name the offsets"),
        (("--file", "-", "--offset", "1"), "name the offsets"),
        (("--topic", CROSSED, "--partition", "0", "--offset", "x"), "--offset 'x' is no number"),
        (("--file", "-", "--taken-at", "noon"), "--taken-at 'noon' is no time"),
        (("--topic", CROSSED, "--partition", "0", "--offset", "1", "--to", "dc3"), "dc1 --to dc3: not a direction"),
    ],
)
def test_what_cannot_be_asked_for_is_told(kept: Kept, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        kept.run(*words)


def test_the_exit_code_tells_what_came_of_it(kept: Kept) -> None:
    lines = f"topic,partition,offset\n{CROSSED},0,4\n{ONLY_THERE},0,1\n".encode()
    command = [str(REPO / "spark-submit.sh"), "translate", *_SHORT_LIVED, "--conf", str(kept.installation.config_file)]
    command += ["--from", "dc1", "--to", "dc2", "--file", "-", "--format", "csv"]
    done = subprocess.run(command, input=lines, capture_output=True, env=dict(os.environ), timeout=600, check=False)
    assert done.returncode == 1, done.stderr.decode()
    header, answered, withheld = done.stdout.decode().splitlines()
    assert header == "topic,partition,offset,target_offset,state,duplicates,duplicates_at_most,lost,reason"
    assert answered.startswith(f"{CROSSED},0,4,{kept.first_unread(0, 4, 'dc1', 'dc2')},EXACT,")
    assert withheld.startswith(f"{ONLY_THERE},0,1,,TOPIC_MISSING,,,,")
    assert b"1 of 2 offsets are withheld: TOPIC_MISSING 1" in done.stderr
