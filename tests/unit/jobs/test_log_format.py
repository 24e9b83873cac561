"""What the jobs say: text or one JSON object per line, and progress as the golden files have it."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from fakes.clusters import MemoryTopic
from fakes.reconciler_site import mirrored_site
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.jobs import runner as logs
from offset_sync.jobs.index_records import tell
from offset_sync.jobs.sync_metrics import CountedHistory, SyncMetrics
from offset_sync.model.values import TopicPartition
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler
from tools.golden_output import expect


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


def test_sync_offsets_says_where_its_groups_are() -> None:
    site = mirrored_site()
    metrics = SyncMetrics(site.config, site.state)
    lists = ReadLists(site.config, site.state, {})
    history = CountedHistory(site.reconciliations, metrics)
    site.reconciler = Reconciler(site.config, site.state, site, site.writers, history, lists)
    for group in ("readers", "others"):
        site.commit("X", group, 4)
    site.read_all()
    lines = [metrics.summary()]
    site.reconcile()
    lines.append(metrics.summary())
    site.clusters["Y"].topics["orders"] = MemoryTopic("another id", 1)
    site.commit("X", "readers", 5)
    site.reconcile()
    site.pass_time(90_000)
    expect("sync_offsets.txt", "\n".join([*lines, metrics.summary()]))


def test_index_records_says_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    progress = IndexProgress()
    with caplog.at_level(logging.INFO):
        tell(progress, "indexing for", is_begun=False)
        progress.expect("dc1", {TopicPartition("orders", 0): 100})
        tell(progress, "indexing for", is_begun=False)
        progress.advance("dc1", {("orders", 0): 0}, {("orders", 0): 100}, 90)
        tell(progress, "ended after")
    said = [re.sub("(for|after) .*:", "\\1 …:", record.getMessage()) for record in caplog.records]
    nothing = "0 records, 0 records/s, 0% of the records present at the start, time left unknown"
    assert said[0] == f"indexing for …: {nothing}"
    assert said[-1].startswith("ended after …: 90 records, ")
    assert said[-1].endswith("100% of the records present at the start, time left 0 s")
