"""A process ends as it should, whatever its daemon threads ask of delta-rs at that moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore

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
