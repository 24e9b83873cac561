"""The command check: exit codes, table and JSON; no broker answers here and no JVM is started."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from offset_sync.config import load_config
from offset_sync.jobs import check
from offset_sync.jobs.check import show_findings
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level

REPO = Path(__file__).resolve().parents[4]
FINDINGS = [
    Finding(Level.OK, "clusters.dc1", "connection", "1 broker"),
    Finding(Level.FAIL, "clusters.dc1", "topics", "orders\n\x1b[31m: no"),
    Finding(Level.WARN, "tables", "root", "x" * 200),
]


def tree(folder: Path) -> dict[str, object]:
    clusters = {alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}} for alias in ("dc1", "dc2")}
    places = {"root": str(folder / "tables"), "checkpoints": f"file://{folder}/checkpoints"}
    return {"clusters": clusters, "topics": {"include": ["a"]}, "tables": places}


def test_findings_are_shown_place_by_place_and_cannot_move_the_cursor() -> None:
    out = io.StringIO()
    show_findings(FINDINGS, Console(file=out, width=80))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[:2] == ["clusters.dc1", "  OK    connection  1 broker"]
    assert lines[2].startswith("  FAIL  topics      orders")
    assert "\x1b" not in out.getvalue()
    assert lines[-1] == "1 OK, 1 WARN, 1 FAIL"
    assert max(map(len, lines)) <= 80


def test_what_is_wrong_with_the_client_fails(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "check_client", lambda: ["expected librdkafka 2.16.0, found 2.16.9"])
    monkeypatch.setattr(check, "side_by_side", lambda _, aliases: {each: ClusterError(each, "no") for each in aliases})
    found = check.find_all(load_config(config_file))
    of_client = [each for each in found if each.place == "confluent-kafka"]
    assert of_client == [Finding(Level.FAIL, "confluent-kafka", "version", "expected librdkafka 2.16.0, found 2.16.9")]


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    place = tmp_path / "my.yaml"
    place.write_text(yaml.safe_dump(tree(tmp_path)))
    return place


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPO / "jobs" / "check.py"), *words]
    # A java that is called would be found out: there is none on this path.
    environment = {"PYTHONPATH": str(REPO / "lib"), "PATH": "/nowhere"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_clusters_that_do_not_answer_end_with_1_and_need_no_java(config_file: Path, tmp_path: Path) -> None:
    three = tree(tmp_path)
    clusters = three["clusters"]
    assert isinstance(clusters, dict)
    clusters["dc3"] = clusters["dc1"]
    config_file.write_text(yaml.safe_dump({**three, "mirror": {"names": "mm2"}}))
    ended = run("--conf", str(config_file), "--json")
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.splitlines()[-1] == "3 of 6 checks failed"
    told = json.loads(ended.stdout)["findings"]
    assert [each["check"] for each in told if each["level"] == "FAIL"] == ["connection"] * 3
    # What works and cannot be verified is among the findings, and not in the log as well.
    (warned,) = [each for each in told if each["level"] == "WARN"]
    assert (warned["place"], warned["check"]) == ("mirror.place_header", "configuration")
    assert "WARNING" not in ended.stderr
