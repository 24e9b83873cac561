"""``offset_sync.translate_offsets``: the command ``translate`` as a function."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from offset_sync.config import Config, load_config
from offset_sync.jobs.directions import check_direction
from offset_sync.jobs.translate import target_names, translate_table
from offset_sync.jobs.translation.answers import to_answer_table
from offset_sync.jobs.translation.offset_table import OPTIONAL, REQUIRED, check_columns, parse_time, to_offsets
from offset_sync.model.errors import ConfigError
from offset_sync.state.clock_offset import system_now_ms

ByTopic = Mapping[str, Mapping[Any, int]]


def translate_offsets(
    conf: str | Path | Config,
    pair: tuple[str, str],
    offsets: ByTopic | Iterable[Mapping[str, object]] | Any,
    *,
    taken_at: datetime | None = None,
    disaster: bool = False,
) -> pa.Table:
    """Translate offsets that no group has committed from source to target, the aliases in *pair*.

    *conf* is the configuration or its file. *offsets* are each the next to read: ``{"orders": {0: 7}}`` as Spark writes
    them, or rows as mappings, or anything that gives itself to Arrow (a table, a DataFrame of pandas) with the columns
    ``topic``, ``partition``, ``offset`` and, if they are known, ``taken_at`` (with its zone) and ``leader_epoch``.
    *taken_at*: those without a time of their own were read off the log then or later. *disaster*: the source is lost.

    Returns the same columns and ``target_offset``, ``state``, ``duplicates``, ``duplicates_at_most``, ``lost`` and
    ``reason``, a row per offset in their order; where copies have other names also ``target_topic``. Where an answer is
    withheld ``target_offset`` is null, ``state`` and ``reason`` say why: such a row must not be skipped over. Raises
    ConfigError for what is no offset (rows are counted from 1), TableError and PlatformError where the tables cannot be
    read. Errs to earlier answers and to withholding.
    """
    config = conf if isinstance(conf, Config) else load_config(str(conf))
    check_direction(config, *pair)
    given, now_ms = _to_table(offsets), system_now_ms()
    check_columns(given.column_names)
    known = [name for name in (*REQUIRED, *OPTIONAL) if name in given.column_names]
    texts = pa.table({name: given.column(name).cast(pa.string()).fill_null("") for name in known})
    rows = to_offsets(texts, np.arange(1, given.num_rows + 1), now_ms)
    if taken_at is not None:
        try:
            rows = rows.taken_at(parse_time(taken_at.isoformat(), now_ms))
        except ValueError as error:
            raise ConfigError([f"taken_at {taken_at} {error}"]) from None
    answers = translate_table(config, pair, rows, is_source_lost=disaster, stop=threading.Event())
    return to_answer_table(replace(rows, given=given), answers, target_names(config, pair, rows))


def _to_table(offsets: Any) -> pa.Table:
    if isinstance(offsets, Mapping):
        rows = [(topic, int(number), offset) for topic, by in offsets.items() for number, offset in by.items()]
        return pa.Table.from_pylist([dict(zip(REQUIRED, row, strict=True)) for row in rows], _SCHEMA)
    if hasattr(offsets, "__arrow_c_stream__"):
        return pa.table(offsets)
    rows = list(offsets)
    return pa.Table.from_pylist(rows) if rows else _SCHEMA.empty_table()


_SCHEMA = pa.schema([("topic", pa.string()), ("partition", pa.int64()), ("offset", pa.int64())])
