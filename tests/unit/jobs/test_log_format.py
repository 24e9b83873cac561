"""What the jobs say: text or one JSON object per line."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.jobs import runner as logs
from offset_sync.jobs.index_records import tell
from offset_sync.model.values import TopicPartition


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    """Put back what starting a log changes in the process."""
    hooks, before = (sys.excepthook, threading.excepthook), os.environ.get(logs.LOG_FORMAT)
    yield
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)
    os.environ.pop(logs.LOG_FORMAT, None)
    if before is not None:
        os.environ[logs.LOG_FORMAT] = before


def written(log_format: str, write: Callable[[], object]) -> list[str]:
    """Return the lines that *write* logs in a process whose log was just started."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []  # pytest's own, of the test that is running
    try:
        logs.start_logging(log_format, stream)
        write()
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    return stream.getvalue().splitlines()


def fail() -> None:
    """Log an exception, with a name that would break the line."""
    try:
        raise ValueError("no\nsuch thing")
    except ValueError:
        logging.getLogger("offset_sync.x").exception("group %s", 'a "quoted"\n\x1b[31m ü \ud800')


def test_a_record_is_one_line_whatever_it_holds() -> None:
    (line,) = written("json", fail)
    event = json.loads(line)
    assert [*event] == ["ts", "level", "logger", "msg", "exception"]
    assert (event["level"], event["logger"]) == ("ERROR", "offset_sync.x")
    assert event["msg"] == 'group a "quoted"\n\x1b[31m ü \ud800'
    assert (event["exception"]["class"], event["exception"]["msg"]) == ("ValueError", "no\nsuch thing")
    first, *others = written("text", fail)
    assert first.endswith('ERROR offset_sync.x group a "quoted"\\u000a\\u001b[31m ü \\ud800')
    assert others[-2:] == ["ValueError: no", "such thing"], "a stack trace keeps its lines"
    record = logging.LogRecord("x", logging.INFO, "", 0, "m", None, None)
    record.created, record.msecs = 1_000_000_000.0625, 62.5
    assert json.loads(logs.JsonLines().format(record))["ts"] == "2001-09-09T01:46:40.062Z"


def test_index_records_says_how_far_it_is_once_the_end_of_a_log_is_known(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    progress = IndexProgress()
    tell(progress, "indexing for", is_begun=False)
    progress.expect("dc1", {TopicPartition("orders", 0): 100})
    tell(progress, "indexing for", is_begun=False)
    (said,) = caplog.messages
    assert ", 0% of" in said
