"""What holds for the files of the project: pins, budgets, addresses, set-up without surprises."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

import prerequisites

REPO = Path(__file__).resolve().parents[2]
PYTHON_FOLDERS = ("lib", "jobs", "scripts", "tests", "benchmarks")
LONGEST_BODY = 45
LONGEST_JOB = 40


def pins() -> dict[str, str]:
    """Return library -> exact version, without its marker; empty for a requirement that is not exact."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(REPO / "setup.cfg")
    texts = [parser["options"]["install_requires"], *parser["options.extras_require"].values()]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    return {name: version for name, _, version in (line.partition(";")[0].partition("==") for line in wanted)}


def dependencies() -> list[dict[str, str]]:
    return [dict(d.attrib) for d in ET.parse(REPO / "conf" / "jars" / "ivy.xml").getroot().iter("dependency")]


def python_files() -> Iterator[Path]:
    for folder in PYTHON_FOLDERS:
        yield from sorted((REPO / folder).rglob("*.py"))


def project_files() -> list[Path]:
    """Return the files that are, or would be, under version control."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := REPO / name).is_file()]


def test_every_dependency_is_pinned_to_one_version_and_a_jar_brings_nothing_along() -> None:
    assert {name: v for name, v in pins().items() if not re.fullmatch(r"\d+(\.\d+)+(\.post\d+)?", v)} == {}
    found = dependencies()
    assert [d["name"] for d in found if d["transitive"] != "false"] == []
    assert [d["name"] for d in found if not re.fullmatch(r"\d[\w.-]*", d["rev"])] == []
    assert len({(d["conf"], d["org"], d["name"]) for d in found}) == len(found)


def test_no_file_names_a_registry_or_a_private_folder() -> None:
    forbidden = re.compile(
        "|".join([r"repo1?\.maven", r"maven\.org", r"pythonhosted", r"pypi\.", r"/tmp/" + "w/", "/" + "work/"])
    )
    found = []
    for path in project_files():
        if path != Path(__file__) and path.suffix not in {".png", ".parquet", ".bin"}:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [
                f"{path.relative_to(REPO)}:{n}: {line[:80]}"
                for n, line in enumerate(lines, 1)
                if forbidden.search(line)
            ]
    assert found == []


def test_a_job_only_calls_the_package() -> None:
    jobs = (REPO / "jobs").glob("*.py")
    assert [job for job in jobs if len(job.read_text(encoding="utf-8").splitlines()) > LONGEST_JOB] == []


def test_no_function_outgrows_the_budget() -> None:
    too_long = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and (node.end_lineno or 0) - node.body[0].lineno + 1 > LONGEST_BODY:
                too_long.append(f"{path.relative_to(REPO)}:{node.lineno} {node.name}")
    assert too_long == []


def test_a_python_that_cannot_hold_the_pins_or_make_environments_is_refused_with_the_remedy() -> None:
    for version in ((3, 9), (3, 10), (3, 15), (4, 0)):
        with pytest.raises(SystemExit, match=r"3\.11, 3\.12, 3\.13 or 3\.14 is needed.*make PYTHON="):
            prerequisites.check_python(version, can_make_environments=True)
    for minor in (11, 12, 13, 14):
        prerequisites.check_python((3, minor), can_make_environments=True)
    with pytest.raises(SystemExit, match=r"apt-get install python3\.11-venv"):
        prerequisites.check_python((3, 11), can_make_environments=False)


def test_a_java_that_spark_cannot_run_on_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program := tmp_path / "bin" / "java").parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"25.0.2\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SystemExit, match=r"or newer\) is needed, .* is 25\.0\.2;"):
        prerequisites.find_java()
