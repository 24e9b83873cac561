"""Shared by all jobs and commands: arguments, configuration, signals, exit code, and the log on standard error.

The log is text for people, or one JSON object per line for a log store. The JVM follows the same switch
(``conf/log4j2.properties`` reads the environment variables) and writes the same keys, those of Spark's own structured
logs: ``ts``, ``level``, ``logger``, ``msg`` and, if any, ``exception``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from offset_sync import __version__
from offset_sync.config import Config, load_config
from offset_sync.config.rules import cautions
from offset_sync.ingest.query_errors import first_line, is_of_full_disk, with_full_disk
from offset_sync.jobs.process_end import JOB, LOG_FORMAT, ProcessEnd
from offset_sync.kafka.clients import log_in
from offset_sync.kafka.librdkafka import check_client
from offset_sync.model.errors import ClusterError, ConfigError, OffsetSyncError, PlatformError
from offset_sync.model.text import escaped, one_line
from offset_sync.state import failpoints
from offset_sync.state.cluster_ids import with_known_ids
from offset_sync.tables.files import files_of
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
FORMATS = ("text", "json")
_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}  # as in the JVM, so that one query finds both
DONE, FAILED, BAD_ARGUMENTS, TAKEN_OVER = 0, 1, 2, 3
_EXIT_CODES = (
    "exit codes: 0 done, 1 with a line per failure, 2 bad configuration or arguments, 3 taken over by another driver"
)

JobFunction = Callable[[Config, argparse.Namespace, threading.Event], Sequence[str]]
"""Does the job and returns one line per failure."""


def job_arguments(description: str, *, has_once: bool = True) -> argparse.ArgumentParser:
    """Return a parser with the options that all jobs share; wrong arguments exit with 2.

    *has_once* is False for commands that end by themselves.
    """
    parser = argparse.ArgumentParser(description=description, epilog=_EXIT_CODES)
    parser.add_argument("--conf", required=True, metavar="FILE", help="configuration (YAML)")
    if has_once:
        parser.add_argument("--once", action="store_true", help="catch up with the present ends of the logs, then exit")
    by_default = os.environ.get(LOG_FORMAT, "text")
    parser.add_argument(
        "--log-format",
        choices=FORMATS,
        default=by_default if by_default in FORMATS else "text",
        help=f"log lines as text or one JSON object each; default: ${LOG_FORMAT}, else text",
    )
    return parser


def run_job(function: JobFunction, parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Run *function* until it is done or SIGTERM arrives; return the exit code and print one line per failure."""
    arguments = parser.parse_args(argv)
    start_logging(arguments.log_format)
    try:
        config = load_config(arguments.conf)
    except ConfigError as error:
        return code_of(error)
    clusters, root = ", ".join(config.clusters), config.tables.root
    logger.info("%s %s: clusters %s; tables %s", function.__name__, __version__, clusters, root)
    for each in () if getattr(arguments, "tells_cautions", False) else cautions(config):
        logger.warning("%s", each)
    if failpoint := os.environ.get(failpoints.VARIABLE):
        logger.warning("failpoint %s=%s is set: this process will kill itself there", failpoints.VARIABLE, failpoint)
    code_when_stopped = FAILED if getattr(arguments, "once", True) else DONE
    end = ProcessEnd(tell, code_when_stopped)
    try:
        with end:
            log_in_at_once(config)
            config = with_known_ids(config, files_of(config))
            failures = function(config, arguments, end.stop)
    except KeyboardInterrupt:  # Spark's reaction to a signal
        tell("stopped by SIGINT while starting")
        return code_when_stopped
    except OffsetSyncError as error:
        return code_of(error)
    except Exception as problem:
        logger.exception("ended by an error")
        if line := _of_storage(problem, config):
            tell(line)
        return FAILED
    for failure in failures:
        tell(escaped(failure))
    return FAILED if failures else DONE


def code_of(error: OffsetSyncError) -> int:
    """Print *error*, and return the exit code for it."""
    tell(str(error))
    return error.exit_code


def log_in_at_once(config: Config) -> None:
    """Log this process in at clusters with Kerberos, before a JVM or a client starts. Raises ClusterError."""
    for alias in config.clusters:
        try:
            log_in(config.admin_options(alias))
        except PlatformError as error:
            raise ClusterError(alias, str(error)) from error


def _of_storage(problem: Exception, config: Config) -> str | None:
    """Return the message for a storage that is full or unreachable; None if *problem* is another one."""
    if is_of_full_disk(problem):
        line = with_full_disk(first_line(str(problem)), (config.tables.root, config.tables.checkpoints))
        return escaped(f"{line}; then start it again")
    if isinstance(problem, OSError) and files_of(config).local(config.tables.root) is None:
        return f"tables: {one_line(problem)}; see docs/deployment.md, Tables and checkpoints"
    return None


@contextmanager
def open_tables(config: Config, name: str) -> Iterator[TableStore]:
    """Yield the tables of *config* on any storage.

    YARN and Kubernetes end a driver that opens no Spark session: so one with the application *name* is open meanwhile
    if spark-submit has started this process. Otherwise no JVM is started, and pyspark is not imported.
    """
    for remark in check_client():
        logger.warning("%s", remark)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        yield TableStore.of(config, config.names)
        return
    from pyspark.sql import SparkSession

    from offset_sync.jobs.spark_session import open_session

    is_ours = SparkSession.getActiveSession() is None
    spark = open_session(name)
    try:
        yield TableStore.of(config, config.names)
    finally:
        if is_ours:
            spark.stop()


def check_direction(config: Config, source: str, target: str) -> None:
    """Raise ConfigError if offsets are not synced from *source* to *target*."""
    if (source, target) not in config.pairs():
        known = ", ".join(f"{one} to {other}" for one, other in config.pairs())
        raise ConfigError([f"--from {source} --to {target}: not a direction of the configuration, which has {known}"])


class TextLines(logging.Formatter):
    """Formats a record as text; names of groups and topics in it can neither break lines nor move the cursor."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without the stack trace, which keeps its lines."""
        record.message = escaped(record.message)
        return _job() + super().formatMessage(record)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, whatever the message is; times are UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {"job": job} if (job := _job()) else {}
        line |= {
            "ts": f"{at}.{int(record.msecs):03d}Z",
            "level": _LEVELS.get(record.levelname, record.levelname),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        kind, problem, _ = record.exc_info or (None, None, None)
        if record.exc_info and kind is not None:
            stack = self.formatException(record.exc_info)
            line["exception"] = {"class": kind.__qualname__, "msg": str(problem), "stacktrace": stack}
        return json.dumps(line)


def start_logging(log_format: str, stream: TextIO | None = None) -> None:
    """Log to *stream*, by default standard error, in *log_format*, and have a JVM started later do the same.

    Errors that end a thread are logged, and with ``json`` warnings too.
    """
    os.environ[LOG_FORMAT] = log_format
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines(_TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in ("py4j", "botocore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(log_format == "json")
    threading.excepthook = _log_end_of_thread


def _log_end_of_thread(given: threading.ExceptHookArgs) -> None:
    problem = given.exc_value or given.exc_type()
    logger.critical("a thread has ended by an error", exc_info=(given.exc_type, problem, given.exc_traceback))


def tell(line: str) -> None:
    """Print *line*, for example why a job failed, on standard error: bare as text, as an error in JSON.

    Line breaks are kept; all other control characters are escaped.
    """
    if os.environ.get(LOG_FORMAT) == "json":
        logging.getLogger("offset_sync").error("%s", line)
    else:
        # In one write: other threads and processes log at the same time.
        print("".join(f"{_job()}{escaped(each)}\n" for each in line.split("\n")), end="", file=sys.stderr)


def _job() -> str:
    return os.environ.get(JOB, "")
