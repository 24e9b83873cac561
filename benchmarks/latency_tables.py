"""Where the tables of a benchmark are: on this machine's disk, on S3 with slow requests, or on HDFS.

S3 is S3Proxy behind a gate that holds each request back; HDFS a namenode and three datanodes. `make test-cluster`, or
``scripts/jars.py cluster``, brings their jars.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from cluster.hadoop import running_hadoop
from cluster.s3_server import BUCKET, running_s3

REQUEST_S = 0.03
"""So long is each request to S3 held back."""


@dataclass(frozen=True)
class Place:
    """Where *tables* and *checkpoints* are, the *storage* options, and what spark-submit.sh is given for it.

    *seen_at* is where the benchmark reads the tables, without the requests of delta-rs.
    """

    tables: str
    checkpoints: str
    seen_at: str
    storage: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()

    @property
    def sections(self) -> dict[str, Any]:
        """Return what the configuration says of it."""
        return {"tables": {"root": self.tables, "checkpoints": self.checkpoints, "storage": dict(self.storage)}}


def _serve(folder: Path, checkpoints: str | None, pipe: Connection) -> None:
    with running_s3(folder) as s3, suppress(EOFError):
        s3.let_requests_take(REQUEST_S)
        there = [f"s3a://{BUCKET}/{name}" for name in ("tables", "checkpoints")]
        seen_at = str(s3.objects / BUCKET / "tables")
        pipe.send(Place(there[0], checkpoints or there[1], seen_at, s3.storage, s3.spark_options()))
        pipe.recv()


@contextmanager
def _slow_s3(folder: Path, checkpoints: str | None) -> Iterator[Place]:
    """Start S3 in a process of its own: beside the load its requests would wait for the interpreter, too."""
    here, there = multiprocessing.Pipe()
    told = folder, checkpoints, there
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=told, daemon=True)
    process.start()
    there.close()  # so that its end is noticed
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


@contextmanager
def tables_on(storage: str, folder: Path) -> Iterator[Place]:
    """Start what serves *storage*, below *folder*: ``disk``, ``s3``, ``hdfs``, or ``s3_whole`` with checkpoints too.

    A checkpoint is written by Spark, some twenty requests to S3 for each of its files.
    """
    here = (f"{folder}/tables", f"{folder}/checkpoints")
    if storage in ("s3", "s3_whole"):
        (folder / "s3").mkdir()
        with _slow_s3(folder / "s3", None if storage == "s3_whole" else here[1]) as place:
            yield place
    elif storage == "hdfs":
        (folder / "hadoop").mkdir()
        with running_hadoop(folder / "hadoop") as hadoop, pytest.MonkeyPatch.context() as environment:
            environment.setenv("HADOOP_CONF_DIR", str(hadoop.settings))
            tables, checkpoints = (f"{hadoop.file_system}/{name}" for name in ("tables", "checkpoints"))
            yield Place(tables, checkpoints, tables)
    else:
        yield Place(*here, here[0])
