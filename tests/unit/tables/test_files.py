"""Whole files of this machine's disk, and of what delta-rs reaches: the same is read and written by either."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders.claims import claims, epochs
from fakes.reconciler_site import config_of
from offset_sync.tables import files as whole_files
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files, files_of, for_hadoop
from offset_sync.tables.store import TableStore


class OverDeltaRs(Files):
    """Takes this disk for something that only delta-rs reaches."""

    def local(self, path: str) -> Path | None:
        return None


@pytest.fixture(params=[Files, OverDeltaRs], ids=["this disk", "by delta-rs"])
def files(request: pytest.FixtureRequest) -> Files:
    found: Files = request.param()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return f"file://{tmp_path}"


def test_a_path_may_be_written_in_four_ways_and_without_a_scheme_is_on_this_disk(tmp_path: Path) -> None:
    for form in ("{}", "file:{}", "file://{}", "file://localhost{}"):
        files, folder = Files(), f"{tmp_path}/with: a colon"
        files.write_text(form.format(f"{folder}/a.json"), "ä\n")
        assert (files.local(form.format(folder)), files.uri(form.format(folder))) == (Path(folder), folder)
        assert files.read_text(form.format(f"{folder}/a.json")) == "ä\n"
        assert for_hadoop(form.format(folder)) == f"file://{folder}"
    tables = {"root": "s3://b/t", "checkpoints": "/c", "storage": {"AWS_REGION": "eu"}}
    files = files_of(config_of(["X", "Y"], tables=tables))
    assert (files.storage, files.local("s3://b/t"), files.uri("s3://b/t")) == (tables["storage"], None, "s3://b/t")
    assert for_hadoop("hdfs:///c") == "hdfs:///c"
    assert Files().uri("data/tables") == str(Path("data/tables").absolute())


def test_texts_are_written_read_listed_and_deleted(files: Files, folder: str) -> None:
    began_ms = int(time.time() * 1000) - 1000
    for name, text in (("b/2", "old"), ("b/2", "neü"), ("b/1", ""), ("b/c/3", "x"), (".hidden", "x")):
        files.write_text(f"{folder}/{name}", text)
    assert (files.read_text(f"{folder}/b/2"), files.read_text(f"{folder}/b/1")) == ("neü", "")
    assert (files.names(f"{folder}/b"), files.names(folder)) == (["1", "2"], [".hidden"])
    assert sorted(files.below(folder)) == [".hidden", "b/1", "b/2", "b/c/3"]
    assert all(began_ms <= at_ms <= time.time() * 1000 + 1000 for at_ms in files.written_ms(folder).values())
    for _ in range(2):
        files.delete(f"{folder}/b/2")
    assert files.names(f"{folder}/b") == ["1"]


def test_tables_are_written_and_followed(files: Files, folder: str) -> None:
    tables = TableStore(folder, files)
    for _ in range(2):
        tables.create([DRIVERS])
    for number in (0, 0, 1, 1, 2):
        tables.append(DRIVERS, claims(number), ("query", number))
    assert (epochs(tables.all_rows(DRIVERS)), tables.version(DRIVERS)) == ([0, 1, 2], 3)
    assert epochs(tables.read_added(DRIVERS, 1, 3)) == [1, 2]
    with pytest.raises(FileNotFoundError):
        tables.read_added(DRIVERS, 2, 4)


def test_a_file_is_stored_before_it_has_its_name_and_one_that_cannot_be_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, stored = tmp_path / "a.json", list[tuple[bool, bool]]()
    monkeypatch.setattr(whole_files, "fsync", lambda each: stored.append((each == tmp_path, path.exists())))
    Files().write_text(str(path), "whole")
    assert stored == [(False, False), (True, True)]
    assert not Files().put_new(str(path), b"another")
    path.unlink()
    assert Files().put_new(str(path), b"whole")
    assert stored[2:] == [(False, True), (False, False)]

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_files, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Files().write_text(str(path), "another")
    assert (path.read_text(), [each.name for each in tmp_path.iterdir()]) == ("whole", ["a.json"])


_LIB = Path(__file__).resolve().parents[3] / "lib"
_ASKS_FOR_EVER = """
import sys, threading
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore

begun = threading.Event()

def ask():
    while True:
        begun.set()
        TableStore(sys.argv[1]).version(DRIVERS)

for _ in range(4):
    threading.Thread(target=ask, daemon=True).start()
begun.wait()
sys.exit(7)
"""


def test_a_process_ends_with_its_own_exit_code_while_daemon_threads_ask(tmp_path: Path) -> None:
    TableStore(str(tmp_path)).create([DRIVERS])
    command = [sys.executable, "-c", _ASKS_FOR_EVER, str(tmp_path)]
    for _ in range(2):
        assert subprocess.run(command, env={"PYTHONPATH": str(_LIB)}, check=False, timeout=60).returncode == 7
