"""One configuration with tables of its own, and its jobs: in this process, or as processes like in production."""

from __future__ import annotations

import argparse
import atexit
import faulthandler
import functools
import operator
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import deltalake
import pyarrow as pa
import yaml
from pyarrow import dataset
from pyspark.sql import SparkSession

from broker.job import PATIENCE_SECONDS, Job, ThreadJob, thread_job
from offset_sync.config import load_config
from offset_sync.jobs import spark_session
from offset_sync.jobs.index_records import index_records
from offset_sync.jobs.maintain_tables import maintain_tables
from offset_sync.jobs.report_status import add_arguments, report_status
from offset_sync.jobs.runner import job_arguments
from offset_sync.jobs.sync_offsets import sync_offsets
from offset_sync.state.cluster_ids import with_known_ids
from offset_sync.tables.files import files_of
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.clients import Endpoint

REPO = Path(__file__).resolve().parents[3]
Row = dict[str, Any]
_Value = TypeVar("_Value")
# A JVM of a few seconds does not live to see what the optimising compiler is for, nor is it to verify a release again.
_QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
# Queries over a few rows: to compile each takes longer than to interpret it.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_SHORT_LIVED = [
    *("--driver-memory", "1g", "--driver-java-options", _QUICK),
    *(word for name, value in _INTERPRETED.items() for word in ("--conf", f"{name}={value}")),
]
# One session has the queries of all tests to remember.
_OF_ALL_TESTS = {"spark.ui.retainedJobs": "50", "spark.sql.ui.retainedExecutions": "20", **_INTERPRETED}


@dataclass(frozen=True)
class Installation:
    """A folder with a configuration file, the tables and the checkpoints; *repository* has the jobs to start."""

    folder: Path
    repository: Path = REPO

    @property
    def config_file(self) -> Path:
        """Return the path of the configuration."""
        return self.folder / "offset-sync.yaml"

    def index(self) -> list[str]:
        """Run ``index_records --once`` here; return its failures."""
        return self._run(index_records)

    def sync(self, *, dry_run: bool = False) -> list[str]:
        """Run ``sync_offsets --once`` here; return its failures."""
        return self._run(sync_offsets, dry_run=dry_run)

    def maintain(self) -> list[str]:
        """Run ``maintain_tables --once`` here; return its failures."""
        return self._run(maintain_tables)

    def report(self) -> list[str]:
        """Run ``report_status --once`` here; return its failures."""
        words = ["--conf", str(self.config_file), "--once", "--format", "json"]
        return self._run(report_status, **vars(add_arguments(job_arguments("")).parse_args(words)))

    def _run(self, job: Callable[..., Any], stop: threading.Event | None = None, **options: Any) -> list[str]:
        self._give_tables()
        arguments = argparse.Namespace(**{"once": True, "dry_run": False} | options)
        config = load_config(self.config_file)
        return list(job(with_known_ids(config, files_of(config)), arguments, stop or threading.Event()))

    def _give_tables(self) -> None:
        """Let an installation without a folder for tables have them, empty, where this process can make them.

        A job makes them where it finds none.
        """
        is_able = "PYSPARK_SUBMIT_ARGS" in os.environ and self.repository == REPO
        if is_able and not (self.folder / "tables").exists():
            shutil.copytree(empty_tables(), self.folder / "tables")

    @contextmanager
    def started(
        self, job: str, *options: str, kill_at: str | None = None, log_name: str | None = None
    ) -> Iterator[Job]:
        """Start a job as in production; whatever still runs at the end is killed.

        *log_name*: of its log, where more than one such job runs.
        """
        self._give_tables()
        log = self.folder / f"{log_name or job}.log"
        submit = str(self.repository / "spark-submit.sh")
        command = [submit, job, *_SHORT_LIVED, "--conf", str(self.config_file), *options]
        environment = dict(os.environ) | ({"OFFSET_SYNC_KILL_AT": kill_at} if kill_at else {})
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        try:
            yield Job(process, log)
        finally:
            if process.poll() is None:
                process.kill()  # the JVM below it ends by itself: its standard input is closed
                process.wait()

    def here(self, job: str) -> AbstractContextManager[ThreadJob]:
        """Run ``index_records`` or ``sync_offsets`` in a thread of this process; see :func:`thread_job`."""
        self._give_tables()  # before there are two threads
        function = {"index_records": index_records, "sync_offsets": sync_offsets}[job]
        return thread_job(lambda stop: self._run(function, stop, once=False))

    def run(self, job: str, *options: str, kill_at: str | None = None) -> Job:
        """Run a job as in production until it ends."""
        with self.started(job, *options, kill_at=kill_at) as running:
            running.wait()
            return running

    def rows(self, table: str, **wanted: Any) -> list[Row]:
        """Return the rows of a table in which the columns have the values *wanted*."""
        path = self.folder / "tables" / table
        if not any((path / "_delta_log").glob("*.json")):  # the folder is there a moment before the table is
            return []
        table = deltalake.DeltaTable(path)
        if not (files := table.file_uris()):
            return []
        schema = pa.schema(table.schema())
        chosen = [
            dataset.field(name).is_null() if value is None else dataset.field(name) == value
            for name, value in wanted.items()
        ]
        found = pa.concat_tables([_read(file, schema) for file in files])
        rows: list[Row] = (found.filter(functools.reduce(operator.and_, chosen)) if chosen else found).to_pylist()
        return rows

    def translations(self, **wanted: Any) -> list[Row]:
        """Return rows of offset_translations, the oldest first."""
        return sorted(self.rows("offset_translations", **wanted), key=lambda row: row["translated_at"])


@functools.lru_cache(maxsize=5_000)
def _read(file: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a file of a table, which never changes: who waits for a row asks for the others each time."""
    return dataset.dataset(file, schema=schema, format="parquet").to_table()


def install(
    folder: Path,
    servers: Mapping[str, str | Endpoint],
    included: list[str],
    of_clusters: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Installation:
    """Write a configuration for clusters or those at addresses; *sections* are added to what every test needs.

    *of_clusters* are more settings of some of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    more = of_clusters or {}
    addresses = {alias: at if isinstance(at, str) else at.bootstrap_servers for alias, at in servers.items()}
    tree: dict[str, Any] = {
        "clusters": {a: {"kafka": {"bootstrap.servers": at}, **more.get(a, {})} for a, at in addresses.items()},
        "topics": {"include": included},
        "sync": {"hole_grace": "0s", "home_silence": "0s"},
        "tables": {"root": str(folder / "tables"), "checkpoints": str(folder / "checkpoints")},
    }
    for name, section in sections.items():
        tree[name] = {**tree.get(name, {}), **section} if isinstance(section, dict) else section
    installation = Installation(folder)
    installation.config_file.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return installation


def until(ask: Callable[[], _Value], seconds: float = PATIENCE_SECONDS, job: Job | ThreadJob | None = None) -> _Value:
    """Return the first answer that is true; an AssertionError after *seconds*, or as soon as *job* has ended."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        said = f":\n{job.output()[-3000:]}" if job else ""
        assert job is None or not job.has_ended, f"the job ended{said}"
        assert time.monotonic() < deadline, f"not within {seconds:g} s{said}"
        time.sleep(0.2)
    return answer


@functools.cache
def empty_tables() -> Path:
    """Return a folder with all tables, empty: to copy them takes less time than to make them."""
    folder = tempfile.TemporaryDirectory(prefix="empty-tables-")
    atexit.register(folder.cleanup)
    TableStore(folder.name).create()
    return Path(folder.name)


@contextmanager
def shared_session() -> Iterator[None]:
    """Let the jobs that run in this process have one Spark session, one after the other.

    A session of its own for each would take longer than most of them. A query that a job leaves would end with its
    session in production; here it is an error, and the stacks of all threads say what it does. Spark keeps the name of
    a query until its thread has ended, though it is not active any more: no later job could start one of that name.
    """

    def leave_open(session: SparkSession) -> None:
        ends_at = time.monotonic() + 10  # one that has just ended is on Spark's list for a moment more
        while (left := [query.name for query in session.streams.active]) and time.monotonic() < ends_at:
            time.sleep(0.05)
        if left:
            faulthandler.dump_traceback(sys.__stderr__)
            os.kill(session.sparkContext._gateway.proc.pid, signal.SIGQUIT)  # Java's, to its standard output
            stop(session)
        assert left == []

    stop, check = SparkSession.stop, spark_session.check_platform
    SparkSession.stop = leave_open  # type: ignore[method-assign]
    spark_session.check_platform = functools.cache(check)  # its JVM is the same
    try:
        yield
    finally:
        SparkSession.stop = stop  # type: ignore[method-assign]
        spark_session.check_platform = check
        if session := SparkSession.getActiveSession():
            session.stop()


def prepare_environment() -> None:
    """Let Spark start in this process as spark-submit.sh would start it, with as little memory as will do."""
    sys.path[:0] = [str(REPO / "scripts")] if str(REPO / "scripts") not in sys.path else []
    from bundle import build_zip
    from spark_options import split_options
    from submit import build_command

    settings = [word for name, value in _OF_ALL_TESTS.items() for word in ("--conf", f"{name}={value}")]
    options = split_options(["--master", "local[2]", *_SHORT_LIVED, *settings])
    command = build_command(REPO, "index_records", options, os.environ)
    build_zip(REPO / "lib", REPO / "dist" / "offset_sync.zip")
    os.environ.update(command.environment)
