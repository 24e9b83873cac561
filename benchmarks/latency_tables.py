"""Where the tables and checkpoints of a benchmark are: on this machine's disk, on S3 with slow requests, or on HDFS.

S3 is S3Proxy behind a gate that holds each request back; HDFS a namenode and three datanodes. `make test-cluster`, or
``scripts/jars.py cluster``, brings their jars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster.hadoop import running_hadoop
from cluster.s3_server import BUCKET, running_s3

REQUEST_S = 0.03
"""So long is each request to S3 held back."""


@dataclass(frozen=True)
class Place:
    """The *root* of tables and checkpoints, its *storage* options, and what spark-submit.sh is given for it."""

    root: str
    storage: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()

    @property
    def sections(self) -> dict[str, Any]:
        """Return what the configuration says of it."""
        places = {"root": f"{self.root}/tables", "checkpoints": f"{self.root}/checkpoints"}
        return {"tables": {**places, "storage": dict(self.storage)}}


@contextmanager
def tables_on(storage: str, folder: Path) -> Iterator[Place]:
    """Start what serves *storage*, below *folder*: ``disk``, ``s3`` or ``hdfs``."""
    if storage == "s3":
        (folder / "s3").mkdir()
        with running_s3(folder / "s3") as s3:
            s3.let_requests_take(REQUEST_S)
            yield Place(f"s3a://{BUCKET}/benchmark", s3.storage, s3.spark_options())
    elif storage == "hdfs":
        (folder / "hadoop").mkdir()
        with running_hadoop(folder / "hadoop") as hadoop, pytest.MonkeyPatch.context() as environment:
            environment.setenv("HADOOP_CONF_DIR", str(hadoop.settings))
            yield Place(f"{hadoop.file_system}/benchmark")
    else:
        yield Place(str(folder))
