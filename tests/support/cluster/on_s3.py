"""Drivers that write on S3 beside each other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deltalake

from broker.installation import REPO
from broker.job import Job
from cluster.s3_server import BUCKET, S3Server
from spark_options import split_options
from submit import build_command

_WRITER = Path(__file__).with_name("s3_writer.py")
_QUICK = ["--driver-memory", "768m", "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]


def start_writer(s3: S3Server, folder: Path, name: str, count: int, options: Sequence[str] = ()) -> Job:
    """Start a driver that appends so many rows to the table ``quarantine`` below *folder*'s name."""
    words = ["--master", "local[1]", *_QUICK, *s3.spark_options(), *options]
    command = build_command(REPO, "index_records", split_options(words), os.environ)
    log = folder / f"{name}.log"
    words = [command.words[0], str(_WRITER), f"s3a://{BUCKET}/{folder.name}", name, str(count)]
    with log.open("wb") as output:
        environ = {**os.environ, **command.environment}
        return Job(subprocess.Popen(words, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output), log)


def rows_of(s3: S3Server, folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table below *folder*'s name; the server keeps each object as a file."""
    if not any((s3.objects / BUCKET / folder.name / table / "_delta_log").glob("*.json")):
        return []
    found = deltalake.DeltaTable(s3.objects / BUCKET / folder.name / table)
    rows: list[dict[str, Any]] = found.to_pyarrow_table().to_pylist()
    return rows
