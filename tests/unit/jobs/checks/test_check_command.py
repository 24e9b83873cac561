"""The command check: exit codes, table and JSON, places; no broker answers here and no JVM is started."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from offset_sync.config import parse_config
from offset_sync.jobs.checks.places import check_places
from offset_sync.jobs.checks.show import print_json, show_findings
from offset_sync.model.finding import Finding, Level, check_by_check
from offset_sync.tables.files import Files

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


def test_the_lines_of_a_check_stand_together() -> None:
    of_checks = [Finding(Level.OK, "clusters.dc1", name, "") for name in ("topics", "commits", "topics", "copies")]
    assert [each.check for each in check_by_check(of_checks)] == ["topics", "topics", "commits", "copies"]


def test_json_says_whether_anything_fails() -> None:
    out = io.StringIO()
    print_json(FINDINGS, out)
    told = json.loads(out.getvalue())
    assert told["ok"] is False
    assert told["findings"][0] == {
        "level": "OK",
        "place": "clusters.dc1",
        "check": "connection",
        "text": "1 broker",
    }


def test_a_place_that_can_be_written_to_is_left_as_it_was(tmp_path: Path) -> None:
    found = list(check_places(parse_config(tree(tmp_path), {})))
    assert [(each.level, each.place, each.check) for each in found] == [
        (Level.OK, "tables", "root"),
        (Level.OK, "tables", "checkpoints"),
    ]
    assert "will be made in" in found[0].text
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    content = tree(tmp_path)
    content["tables"] = {"root": f"{tmp_path}/file/tables", "checkpoints": str(tmp_path)}
    root, checkpoints = check_places(parse_config(content, {}))
    assert (root.level, checkpoints.level) == (Level.FAIL, Level.OK)
    assert "Not a directory" in root.text


@pytest.mark.parametrize(
    ("root", "reason"),
    [("hdfs://127.0.0.1:1/tables", "Connection refused"), ("gopher://name/tables", "Unknown scheme: gopher")],
)
def test_a_place_elsewhere_that_cannot_be_written_to_fails_with_the_reason(
    root: str, reason: str, tmp_path: Path
) -> None:
    places = {"root": root, "checkpoints": f"{root}-checkpoints"}
    found = check_places(parse_config({**tree(tmp_path), "tables": places}, {}))
    told = [(each.level, each.check, " cannot be written to (" in each.text, reason in each.text) for each in found]
    assert told == [(Level.FAIL, check, True, True) for check in ("root", "checkpoints")]


def test_a_place_elsewhere_that_can_be_written_to_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere than on this disk, though below it: as Hadoop's settings may say of a path without a scheme."""
    files = Files(default=f"file://{tmp_path}")
    monkeypatch.setattr("offset_sync.jobs.checks.places.files_of", lambda _config: files)
    content = {**tree(tmp_path), "tables": {"root": "/tables", "checkpoints": "/checkpoints"}}
    found = check_places(parse_config(content, {}))
    assert [(each.level, each.text) for each in found] == [(Level.OK, "/tables"), (Level.OK, "/checkpoints")]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


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


def test_bad_arguments_end_with_2(config_file: Path, tmp_path: Path) -> None:
    assert run("--conf", str(config_file), "--once").returncode == 2
    assert run("--conf", str(tmp_path / "none.yaml")).returncode == 2
