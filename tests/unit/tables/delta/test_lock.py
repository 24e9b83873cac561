"""The lock of a table on a local disk: one holder at a time, who is known, and nobody waits for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from offset_sync.model.errors import TableError
from offset_sync.tables.delta import lock
from offset_sync.tables.delta.lock import table_lock

LIB = Path(__file__).resolve().parents[4] / "lib"


def test_who_waits_too_long_is_told_by_whom_it_is_held_and_how_to_end_that(tmp_path: Path) -> None:
    table, began = tmp_path / "commits", time.monotonic()
    with table_lock(table), pytest.raises(TableError) as raised, table_lock(table, 0.05):
        pytest.fail("two hold it")
    assert time.monotonic() - began < 10
    pattern = rf"{table}: locked for \d+ s by process {os.getpid()} \(\S+\) since \d{{4}}-.*Z; if it hangs, end it: .*"
    assert re.fullmatch(pattern, str(raised.value))
    with table_lock(table, 0.0):
        pass


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    table = tmp_path / "commits"
    code = (
        "import time; from pathlib import Path; from offset_sync.tables.delta.lock import table_lock\n"
        f"with table_lock(Path({str(table)!r})): print('held', flush=True); time.sleep(600)"
    )
    environment = os.environ | {"PYTHONPATH": str(LIB)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(TableError, match=f"process {holder.pid} "), table_lock(table, 0.05):
                pytest.fail("two hold it")
        finally:
            holder.kill()
        with table_lock(table, 60):
            pass


def test_threads_take_turns(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(20):
            with table_lock(tmp_path / "commits", 60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == [1]


def test_a_holder_that_could_not_sign_holds_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lock.os, "pwrite", full)
    table = tmp_path / "commits"
    with table_lock(table), pytest.raises(TableError, match="has not said who it is"), table_lock(table, 0.05):
        pytest.fail("two hold it")


def test_elsewhere_than_on_a_local_disk_there_is_no_lock() -> None:
    with table_lock(None), table_lock(None, 0.0):
        pass
