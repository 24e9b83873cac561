"""Offsets in the checkpoint of a Structured Streaming query: those of the last finished micro-batch.

Spark records how far a micro-batch reads before it runs it (``offsets/7``), and its end afterwards (``commits/7``). So
the newest plan is no position: its records may not be written anywhere yet::

    offsets/  5   6   7         commits/  5   6            the query has read up to the end of 6
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from offset_sync.jobs.translation.offsets import OffsetTable, to_offsets
from offset_sync.model.errors import ConfigError
from offset_sync.model.values import ABSENT
from offset_sync.spark import CHECKPOINT_FORMAT

SOURCE = "source"
"""The column with the number of an offset's source in the query, counted from 0."""


def read_checkpoint(path: str, taken_at_ms: int | None, now_ms: int) -> tuple[OffsetTable, list[str]]:
    """Return the offsets of every Kafka source in the checkpoint folder at *path*, and remarks, as sentences.

    Each has the time *taken_at_ms*, by default that at which the micro-batch *before* was planned: they were read off
    the log after that. A query without a finished micro-batch has its initial offsets. Raises ConfigError if the
    folder is no checkpoint, or cannot be read.
    """
    folder = Path(path)
    planned, done = (_last(folder / name) for name in ("offsets", "commits"))
    if planned is None:
        raise ConfigError([f"--spark-checkpoint {path}: not a checkpoint of a query: it has no offsets/0"])
    if done is None:
        found, remarks, at_ms = (
            _initial(folder),
            ["no micro-batch is done: these offsets are where the query began"],
            ABSENT,
        )
    else:
        _, found = _plan(folder / f"offsets/{done}")
        before = folder / f"offsets/{done - 1}"
        at_ms = _plan(before)[0] if before.is_file() else ABSENT
        remarks = [f"micro-batch {done} is the last one that is done"]
        if planned > done:
            remarks[0] += f"; {planned} is planned but not done, so its records count as unread"
    rows = []
    for number, text in found.items():
        offsets = _kafka_offsets(text)
        if offsets is None:
            remarks.append(f"source {number} is omitted: it has no Kafka offsets")
            continue
        rows += [(str(number), *each) for each in offsets]
    if not rows:
        raise ConfigError([f"--spark-checkpoint {path}: none of its sources is Kafka"])
    names = (SOURCE, "topic", "partition", "offset")
    given = pa.table({n: pa.array(list(c), pa.string()) for n, c in zip(names, zip(*rows, strict=True), strict=True)})
    table = to_offsets(given, range(1, len(rows) + 1), now_ms)
    if taken_at_ms is not None:
        at_ms = taken_at_ms
    return table.taken_at(at_ms if at_ms > 0 else None), remarks


def _last(folder: Path) -> int | None:
    names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
    return max((int(name) for name in names if name.isdigit()), default=None)


def _lines(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").removeprefix("\0").split("\n")
    except OSError as error:
        raise ConfigError([f"{file}: {error.strerror}"]) from None
    if lines[0] != CHECKPOINT_FORMAT:
        raise ConfigError([f"{file}: expected format {CHECKPOINT_FORMAT}, found {lines[0][:20]!a}"])
    return lines


def _plan(file: Path) -> tuple[int, dict[int, str]]:
    """Return when a micro-batch was planned, ABSENT if not recorded, and where each of its sources ends."""
    lines = _lines(file)
    try:
        at_ms = int(json.loads(lines[1]).get("batchTimestampMs", ABSENT))
    except (IndexError, ValueError, AttributeError, TypeError):
        raise ConfigError([f"{file}: line 2: expected a JSON object"]) from None
    return at_ms, dict(enumerate(line for line in lines[2:] if line))


def _initial(folder: Path) -> dict[int, str]:
    """Return where each source of a query began; Spark recorded it before the first plan."""
    files = {int(each.parent.name): each for each in (folder / "sources").glob("*/0")}
    return {number: _lines(files[number])[1] for number in sorted(files)}


def _kafka_offsets(text: str) -> list[tuple[str, str, str]] | None:
    """Return (topic, partition, offset) from ``{"orders":{"0":7}}``; None if it is another source's."""
    try:
        return list(_each(json.loads(text)))
    except (ValueError, TypeError, AttributeError):
        return None


def _each(topics: Any) -> Iterator[tuple[str, str, str]]:
    for topic, offsets in topics.items():
        for partition, offset in offsets.items():
            if isinstance(offset, bool) or not isinstance(offset, int) or int(partition) < 0 or offset < 0:
                raise ValueError(offset)
            yield topic, str(int(partition)), str(offset)
