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

from broker.crafted_logs import Clusters
from broker.installation import _SHORT_LIVED, REPO, Installation
from broker.kept_offsets import Kept, every_offset, install_kept
from offset_sync.model.errors import ConfigError
from offset_sync.model.reasons import Reason

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

CROSSED, ONLY_THERE = "kept-crossed", "kept-crossed-only-on-dc1"


@pytest.fixture(scope="module")
def kept(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return install_kept(clusters, tmp_path_factory.mktemp("kept"), CROSSED)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(("source", "target"), [("dc1", "dc2"), ("dc2", "dc1")])
def test_every_answer_is_the_first_record_that_is_not_read_by_contents(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str
) -> None:
    asked = every_offset(kept, source)
    file = tmp_path / "offsets.csv"
    file.write_text("sink,topic,offset,partition\n" + "".join(f'"s,{p}",{CROSSED},{o},{p}\n' for p, o in asked))
    capsys.readouterr()
    assert kept.run("--file", str(file), source=source, target=target) == []
    found = rows(capsys.readouterr().out)
    assert [(int(row["partition"]), int(row["offset"])) for row in found] == asked
    assert [int(row["target_offset"]) for row in found] == [
        kept.first_unread(partition, offset, source, target) for partition, offset in asked
    ]


def test_a_withheld_line_is_a_failure_with_its_reason(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = len(kept.log("dc1", 0))
    file = tmp_path / "offsets.csv"
    file.write_text(f"topic,partition,offset\n{ONLY_THERE},0,1\n{CROSSED},0,{end + 1}\nother,0,1\n{CROSSED},0,0\n")
    capsys.readouterr()
    (failure,) = kept.run("--file", str(file))
    assert failure.startswith("3 of 4 offsets are withheld: TOPIC_MISSING 1, COMMIT_BEYOND_END 1")
    found = rows(capsys.readouterr().out)
    wanted = [("TOPIC_MISSING", ""), ("COMMIT_BEYOND_END", ""), ("TOPIC_NOT_INCLUDED", ""), ("EXACT", "0")]
    assert [(row["state"], row["target_offset"]) for row in found] == wanted
    assert [row["reason"] == "" for row in found] == [False, False, False, True]
    assert found[0]["reason"] == f"{Reason.TOPIC_MISSING()}; dc2"


def test_without_the_source_the_answers_are_the_same(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    tree = kept.installation.config_file.read_text()
    server = kept.clusters["dc1"].bootstrap_servers
    gone = replace(kept, installation=Installation(kept.installation.folder / "gone"))
    gone.installation.folder.mkdir(exist_ok=True)
    gone.installation.config_file.write_text(tree.replace(server, "127.0.0.1:1"))
    words = ("--topic", CROSSED, "--partition", "1", "--offset", "9")
    capsys.readouterr()
    assert gone.run(*words, "--disaster") == []
    assert int(rows(capsys.readouterr().out)[0]["target_offset"]) == kept.first_unread(1, 9, "dc1", "dc2")
    assert gone.run(*words) == [Reason.OFFSETS_WITHHELD(1, 1, "CLUSTER_UNREACHABLE 1")]
    assert "--disaster" in rows(capsys.readouterr().out)[0]["reason"]


def test_the_lines_of_the_manual_write_the_offsets_of_a_checkpoint_of_spark(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second micro-batch is planned, and not done."""
    for number, end in ((0, 7), (1, 9)):
        (tmp_path / "checkpoint" / "offsets").mkdir(parents=True, exist_ok=True)
        plan = f'v1\n{{"batchTimestampMs":1}}\n{{"{CROSSED}":{{"0":{end}}}}}'
        (tmp_path / "checkpoint" / "offsets" / str(number)).write_text(plan)
    (tmp_path / "checkpoint" / "commits").mkdir()
    (tmp_path / "checkpoint" / "commits" / "0").write_text("v1\n{}")
    text = (REPO / "docs" / "operations.md").read_text().partition("# Offsets that live elsewhere")[2]
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], {"Path": Path, "json": json})
    capsys.readouterr()
    assert kept.run("--file", "offsets.csv") == []
    (answer,) = rows(capsys.readouterr().out)
    assert (answer["offset"], int(answer["target_offset"])) == ("7", kept.first_unread(0, 7, "dc1", "dc2"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--topic", CROSSED), "name the offsets"),
        (("--file", "-", "--offset", "1"), "name the offsets"),
        (("--topic", CROSSED, "--partition", "0", "--offset", "-1"), "a partition or an offset is below 0"),
        (("--topic", CROSSED, "--partition", "0", "--offset", "1", "--to", "dc3"), "dc1 --to dc3: not a direction"),
    ],
)
def test_what_cannot_be_asked_for_is_told(kept: Kept, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        kept.run(*words)


def test_the_exit_code_tells_what_came_of_it(kept: Kept) -> None:
    lines = f"topic,partition,offset\n{CROSSED},0,4\n{ONLY_THERE},0,1\n".encode()
    command = [str(REPO / "spark-submit.sh"), "translate", *_SHORT_LIVED, "--conf", str(kept.installation.config_file)]
    command += ["--from", "dc1", "--to", "dc2", "--file", "-"]
    done = subprocess.run(command, input=lines, capture_output=True, env=dict(os.environ), timeout=600, check=False)
    assert done.returncode == 1, done.stderr.decode()
    header, answered, withheld = done.stdout.decode().splitlines()
    assert header == "topic,partition,offset,target_topic,target_offset,state,duplicates,duplicates_at_most,lost,reason"
    assert answered.startswith(f"{CROSSED},0,4,{CROSSED},{kept.first_unread(0, 4, 'dc1', 'dc2')},EXACT,")
    assert withheld.startswith(f"{ONLY_THERE},0,1,{ONLY_THERE},,TOPIC_MISSING,,,,")
    assert b"1 of 2 offsets are withheld: TOPIC_MISSING 1" in done.stderr
