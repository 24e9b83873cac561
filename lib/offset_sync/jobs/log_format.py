"""The jobs' log on standard error: text for people, or one JSON object per line for a log store.

The JVM follows the same switch (``conf/log4j2.properties`` reads the environment variable) and writes the same keys,
those of Spark's own structured logs: ``ts``, ``level``, ``logger``, ``msg`` and, if any, ``exception``.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from offset_sync.model.text import escaped
from offset_sync.terminal.waiting import LOG_FORMAT

VARIABLE = LOG_FORMAT
"""Environment variable for Python and the JVM of driver and executors: text, the default, or json."""
FORMATS = ("text", "json")

_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}  # as in the JVM, so that one query finds both
logger = logging.getLogger("offset_sync")


class TextLines(logging.Formatter):
    """Formats a record as text; names of groups and topics in it can neither break lines nor move the cursor."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without the stack trace, which keeps its lines."""
        record.message = escaped(record.message)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, whatever the message is; times are UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
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

    With ``json``, warnings and uncaught exceptions are lines of JSON too.
    """
    os.environ[VARIABLE] = log_format
    handler = logging.StreamHandler(stream) if stream is not None else _ToStandardError()
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines(_TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in ("py4j", "botocore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    if log_format == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda given: _log_uncaught(
            given.exc_type, given.exc_value or given.exc_type(), given.exc_traceback
        )


class _ToStandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is now: a wait on a terminal replaces it, so that lines come above its own."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, stream: TextIO) -> None:
        """Ignore what the constructor sets."""


def default_format() -> str:
    """Return the format set in the environment; an unknown word counts as text."""
    wanted = os.environ.get(VARIABLE, "text")
    return wanted if wanted in FORMATS else "text"


def tell(line: str, log_format: str) -> None:
    """Print *line*, for example why a job failed, on standard error: bare as text, as an error in JSON.

    Line breaks are kept; all other control characters are escaped.
    """
    if log_format == "json":
        logger.error("%s", line)
    else:
        # In one write: other threads log at the same time.
        print("\n".join(map(escaped, line.split("\n"))) + "\n", end="", file=sys.stderr)


def _log_uncaught(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    logger.critical("ended by an uncaught exception", exc_info=(kind, problem, trace))
