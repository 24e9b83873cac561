"""Memory that was freed is used again without the system, in threads too."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from offset_sync.jobs import runner
from offset_sync.jobs.heap import keep_freed_memory

ROUNDS = 10
PROGRAM = f"""
import resource, threading
import numpy as np
from offset_sync.jobs.heap import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(3 << 17) for _ in range(12)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def work():
    print(*[faults() for _ in range({ROUNDS})])

print(keep_freed_memory({{}}))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
"""Each round asks for 36 MiB and frees them."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc of another C library")
def test_what_is_freed_is_not_asked_of_the_system_again() -> None:
    said, faults = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    first, *others = map(int, faults.split())
    assert said == "True"
    assert sum(others) < first


@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_what_an_operator_has_set_stays(name: str) -> None:
    assert not keep_freed_memory({name: "4"})


def test_every_job_begins_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = list[str]()
    monkeypatch.setattr(runner, "keep_freed_memory", lambda: calls.append("kept"))
    monkeypatch.setattr(runner, "start_logging", lambda log_format: calls.append(log_format))
    runner.run_job(lambda *given: [], runner.job_arguments("a job"), ["--conf", str(tmp_path / "none.yaml")])
    assert calls[0] == "kept"
