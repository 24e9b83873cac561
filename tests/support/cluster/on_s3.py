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
    words = [f"s3a://{BUCKET}/{folder.name}", name, str(count), json.dumps(s3.storage)]
    command = [sys.executable, str(Path(__file__).with_name("s3_writer.py")), *words]
    environ, log = {**os.environ, "PYTHONPATH": str(REPO / "lib")}, folder / f"{name}.log"
    with log.open("wb") as output:
        return Job(subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output), log)


def rows_of(s3: S3Server, folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table below *folder*'s name; the server keeps each object as a file."""
    if not any((s3.objects / BUCKET / folder.name / table / "_delta_log").glob("*.json")):
        return []
    found = deltalake.DeltaTable(s3.objects / BUCKET / folder.name / table)
    rows: list[dict[str, Any]] = found.to_pyarrow_table().to_pylist()
    return rows
