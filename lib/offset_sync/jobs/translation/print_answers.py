"""Answers for programs: CSV, JSON, and Spark's ``startingOffsets``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.jobs.translation.spark_checkpoint import SOURCE

_AT_ONCE = 50_000
_NEEDS_QUOTES = '[",\r\n]'


def print_csv(answers: pa.Table, out: TextIO) -> None:
    """Print a header and a line per answer, with the columns in their order; null is empty.

    A value is quoted where it has to be. Goes by columns: a million lines take a second or two.
    """
    print(",".join(_cell(name) for name in answers.column_names), file=out)
    for batch in answers.to_batches(max_chunksize=_AT_ONCE):
        columns = [_cells(column) for column in batch.columns]
        lines = pc.binary_join_element_wise(*columns[:-1], pc.binary_join_element_wise(columns[-1], "\n", ""), ",")
        out.write(_text_of(lines))
    out.flush()


def print_json(answers: pa.Table, out: TextIO) -> None:
    """Print an object of JSON per line and answer (JSON Lines), in ASCII; numbers are numbers, the rest is text."""
    for batch in answers.to_batches(max_chunksize=_AT_ONCE):
        out.write("".join(f"{json.dumps(row)}\n" for row in batch.to_pylist()))
    out.flush()


def print_spark(answers: pa.Table, out: TextIO) -> None:
    """Print ``{"orders":{"0":7}}`` as the option ``startingOffsets`` takes it, a line for each source of the query.

    What is withheld is left out: Spark does not start before it is told of every partition.
    """
    for offsets in starting_offsets(answers):
        print(json.dumps(offsets, separators=(",", ":")), file=out)
    out.flush()


def starting_offsets(answers: pa.Table) -> Iterator[dict[str, dict[str, int]]]:
    """Yield, by source of the query, the target offsets by topic and partition."""
    names = answers.column_names
    sources = answers.column(SOURCE).to_pylist() if SOURCE in names else [""] * answers.num_rows
    found: dict[str, dict[str, dict[str, int]]] = {source: {} for source in sources}
    topic = "target_topic" if "target_topic" in names else "topic"
    columns = (answers.column(name).to_pylist() for name in (topic, "partition", "target_offset"))
    for source, topic, partition, offset in zip(sources, *columns, strict=True):
        if offset is not None:
            found[source].setdefault(topic, {})[str(partition)] = offset
    yield from found.values()


def _text_of(texts: pa.Array) -> str:
    """Return all *texts* as one: they lie behind each other in memory."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return str(data.slice(int(ends[0]), int(ends[-1] - ends[0])).to_pybytes(), "utf-8")


def _cells(column: pa.Array) -> pa.Array:
    texts = pc.fill_null(column.cast(pa.string()), "")
    is_odd = pc.match_substring_regex(texts, _NEEDS_QUOTES)
    if not pc.any(is_odd).as_py():
        return texts
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(is_odd, quoted, texts)


def _cell(text: str) -> str:
    return _cells(pa.array([text]))[0].as_py()  # type: ignore[no-any-return]
