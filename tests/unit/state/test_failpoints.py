"""A process dies at the point that the environment names, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[3] / "lib"
PASSES = """
from offset_sync.state.failpoints import AFTER_RUNS, BEFORE_RUNS, IN_RUNS, failpoint, in_append
for turn in range(3):
    failpoint(BEFORE_RUNS), in_append("/tables/record_runs"), failpoint(AFTER_RUNS), print(turn, flush=True)
"""


@pytest.mark.parametrize(
    ("wanted", "turns"),
    [
        (None, 3),
        ("index_records.before_runs", 0),
        ("append.record_runs:2", 1),
        ("index_records.after_runs:3", 2),
        ("append.record_runs:4", 3),
        ("sync_offsets.after_commit", 3),
    ],
)
def test_a_process_dies_when_it_passes_the_point_for_the_time_that_is_named(wanted: str | None, turns: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(LIB), **({"OFFSET_SYNC_KILL_AT": wanted} if wanted else {})}
    ended = subprocess.run([sys.executable, "-c", PASSES], env=environment, capture_output=True, check=False)
    assert len(ended.stdout.split()) == turns
    assert ended.returncode == (0 if turns == 3 else -9)
