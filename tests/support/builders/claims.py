"""Rows of the smallest table, told apart by one number, and a process that appends some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from offset_sync.tables.catalog import DRIVERS

_LIB = str(Path(__file__).resolve().parents[3] / "lib")
_IMPORTS = """
import sys
import pyarrow as pa
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore
def claims(epoch):
    return pa.Table.from_pylist([{"job": "j", "epoch": epoch}], DRIVERS.arrow_schema)
"""


def claims(*epochs: int) -> pa.Table:
    """Return a row for each of *epochs*."""
    return pa.Table.from_pylist([{"job": "j", "epoch": epoch} for epoch in epochs], DRIVERS.arrow_schema)


def epochs(rows: pa.Table) -> list[int]:
    """Return which rows these are, sorted."""
    return sorted(rows.column("epoch").to_pylist())


def start_process(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Run *code*, which may say ``claims`` and ``TableStore``, beside this process; *arguments* are in ``sys.argv``."""
    command = [sys.executable, "-c", _IMPORTS + code, *map(str, arguments)]
    return subprocess.Popen(command, env={"PYTHONPATH": _LIB})
