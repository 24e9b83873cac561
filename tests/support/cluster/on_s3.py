"""Processes that write on S3 beside each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import deltalake

from broker.installation import REPO
from broker.job import Job
from cluster.s3_server import BUCKET, S3Server


def start_writer(s3: S3Server, folder: Path, name: str, count: int) -> Job:
    """Start a process that appends so many rows to the table ``quarantine`` below *folder*'s name."""
    root = f"s3a://{BUCKET}/{folder.name}"
    return _started(folder / f"{name}.log", "s3_writer", root, name, str(count), json.dumps(s3.storage))


def read_sealed(root: str, storage: dict[str, str], folder: Path) -> Job:
    """Start a process that seals a table below *root*, and reads pages of it until its end."""
    return _started(folder / "sealed_index.log", "sealed_index", root, json.dumps(storage))


def _started(log: Path, script: str, *words: str) -> Job:
    command = [sys.executable, str(Path(__file__).with_name(f"{script}.py")), *words]
    environ = {**os.environ, "PYTHONPATH": str(REPO / "lib")}
    with log.open("wb") as output:
        return Job(subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output), log)


def rows_of(s3: S3Server, folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table below *folder*'s name; the server keeps each object as a file."""
    if not any((s3.objects / BUCKET / folder.name / table / "_delta_log").glob("*.json")):
        return []
    found = deltalake.DeltaTable(s3.objects / BUCKET / folder.name / table)
    rows: list[dict[str, Any]] = found.to_pyarrow_table().to_pylist()
    return rows
