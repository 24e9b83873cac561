"""The command check: what it prints, what it reads of which logs, places of tables; no broker answers here."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from rich.console import Console

from fakes.newest_logs import known_config
from offset_sync.check import sample
from offset_sync.config import load_config
from offset_sync.jobs import check
from offset_sync.jobs.check import check_places, show_findings
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level
from offset_sync.tables.files import Files

REPO = Path(__file__).resolve().parents[3]
FINDINGS = [
    Finding(Level.OK, "clusters.dc1", "connection", "1 broker"),
    Finding(Level.FAIL, "clusters.dc1", "topics", "orders\n\x1b[31m: no"),
    Finding(Level.WARN, "tables", "root", "x" * 200),
]


def tree(folder: Path) -> dict[str, Any]:
    clusters = {alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}} for alias in ("dc1", "dc2")}
    places = {"root": str(folder / "tables"), "checkpoints": f"file://{folder}/checkpoints"}
    return {"clusters": clusters, "topics": {"include": ["a"]}, "tables": places}


def test_findings_are_shown_place_by_place_and_cannot_move_the_cursor() -> None:
    out = io.StringIO()
    show_findings(FINDINGS, Console(file=out, width=80))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert (lines[1], lines[4].split()) == ("clusters.dc1", ["OK", "connection", "1", "broker"])
    assert lines[5].split()[:2] == ["FAIL", "topics"]
    assert "\x1b" not in out.getvalue()
    assert lines[-1] == "1 OK, 1 WARN, 1 FAIL"
    assert max(map(len, lines)) <= 80


def test_what_is_wrong_with_the_client_fails(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "check_client", lambda: ["expected librdkafka 2.16.0, found 2.16.9"])
    monkeypatch.setattr(sample, "side_by_side", lambda _, aliases: {each: ClusterError(each, "no") for each in aliases})
    found = check.find_all(load_config(config_file))
    assert Finding(Level.FAIL, "confluent-kafka", "version", "expected librdkafka 2.16.0, found 2.16.9") in found


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
    three["clusters"]["dc3"] = three["clusters"]["dc1"]
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


def found_at(root: object, checkpoints: object) -> list[Finding]:
    return list(check_places(known_config(tables={"root": str(root), "checkpoints": str(checkpoints)})))


def test_a_place_on_this_disk_is_left_as_it_was_or_fails(tmp_path: Path) -> None:
    found = found_at(tmp_path / "tables", f"file://{tmp_path}/checkpoints")
    assert [(each.level, each.check) for each in found] == [(Level.OK, "root"), (Level.OK, "checkpoints")]
    assert "the jobs will create in" in found[0].text
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    root, checkpoints = found_at(tmp_path / "file" / "tables", tmp_path)
    assert (root.level, checkpoints.level) == (Level.FAIL, Level.OK)
    assert "Not a directory" in root.text


def test_a_place_elsewhere_is_left_as_it_was_and_is_a_warning_where_it_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, tables = iter([10.0, 12.2, 20.0, 20.3]), f"file://{tmp_path}/tables"
    monkeypatch.setattr(Files, "local", lambda _files, _path: None)  # this disk is taken for another place
    monkeypatch.setattr("offset_sync.jobs.check.time", SimpleNamespace(monotonic=clock.__next__))
    root, checkpoints = found_at(tables, f"file://{tmp_path}/checkpoints")
    assert root.level is Level.WARN
    said = f"{tables} is slow, 2.2 s for each request: a driver starts, takes over and moves groups"
    assert root.text.startswith(said)
    assert (checkpoints.level, checkpoints.text) == (Level.OK, f"file://{tmp_path}/checkpoints")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
