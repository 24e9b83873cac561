"""Rows of tables as Arrow: joined to pieces, matched by values, and with their topics renamed.

Rows in a table have the topic names of the row's cluster; callers of the store use streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.stream_names import Names
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table, fitted

_WORTH_A_BATCH = 100_000
Renamed = Callable[[str, str], str]
"""Takes the alias of a cluster and a topic's name there or inside; returns the other of the two."""
TOPIC = "topic"
_ANSWERED = ("stream", "target_cluster", "target_topic")
ANSWERS = (OFFSET_TRANSLATIONS, LAST_KNOWN)
"""The tables of which rows are answers, or some of them."""


def cluster_of(table: Table) -> str | None:
    """Return the column with the cluster whose name a row's ``topic`` is; None where it is a stream."""
    if table is OFFSET_TRANSLATIONS:
        return "source_cluster"
    return "cluster" if {"cluster", TOPIC} <= {*table.names} else None


def needed_of(table: Table) -> tuple[str, ...]:
    """Return the columns of a row that tell its stream."""
    cluster = cluster_of(table)
    return () if cluster is None else (cluster, TOPIC, *(_ANSWERED if table in ANSWERS else ()))


def renamed(rows: pa.Table, cluster: str, name_of: Renamed) -> pa.Table:
    """Return *rows* with their topics renamed by *name_of*; the column *cluster* says where.

    Each name is looked up once per cluster; topics that are encoded by a dictionary stay so.
    """
    if rows.num_rows == 0:
        return rows
    cluster_and_topic = (rows.column(name).cast(pa.string()) for name in (cluster, TOPIC))
    places = pc.binary_join_element_wise(*cluster_and_topic, "\0")
    column = with_texts(places, lambda place: name_of(*place.split("\0")))
    if pa.types.is_dictionary(rows.schema.field(TOPIC).type):
        column = column.dictionary_encode()
    return rows.set_column(rows.column_names.index(TOPIC), TOPIC, column)


def with_texts(column: pa.ChunkedArray, other_of: Callable[[str], str]) -> pa.Array:
    """Return a column of texts with another one in the place of each, which is looked up once; null stays null."""
    known = column.combine_chunks().dictionary_encode()
    return pa.array(map(other_of, known.dictionary.to_pylist()), pa.string()).take(known.indices)


def answered_as_now(rows: pa.Table, names: Names) -> pa.Table:
    """Return *rows*, by streams, without answers whose stream had another name at the target than now.

    They were written to another topic there, which is another stream by now. Where the target had no name nothing was
    written. Errs to fewer: then our own writes count as genuine.
    """
    if rows.num_rows == 0 or not {*_ANSWERED} <= {*rows.column_names}:
        return rows
    stream, called, now = (rows.column(name) for name in (_ANSWERED[0], _ANSWERED[2], TOPIC))
    there = now if names.is_same else renamed(rows, _ANSWERED[1], names.outside).column(TOPIC)
    is_stream = pc.fill_null(pc.equal(now, stream), False)
    is_as_now = pc.and_(is_stream, pc.fill_null(pc.equal(there, called), True))
    return rows.filter(pc.or_(pc.is_null(rows.column(_ANSWERED[1])), is_as_now))


def partners(rows: pa.Table, few: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Return for each of *rows* the number of that row of *few* which has the same values of *names*, else -1.

    Null is the same as nothing, as in SQL. Each combination of values is at most once among the *few*.
    """

    def keys(some: pa.Table) -> pa.ChunkedArray:
        return pc.binary_join_element_wise(*(some.column(name).cast(pa.string()) for name in names), "\0")

    found: NDArray[np.int64] = (
        pc.index_in(keys(rows), keys(few), skip_nulls=True).cast(pa.int64()).fill_null(-1).to_numpy()
    )
    return found


def pieces_of(pieces: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield *pieces* with the columns of *schema*, small ones together: each piece costs its reader."""
    held, rows = list[pa.Table](), 0
    for piece in pieces:
        held.append(fitted(piece, schema))
        rows += piece.num_rows
        if rows >= _WORTH_A_BATCH:
            yield pa.concat_tables(held)
            held, rows = [], 0
    if rows:
        yield pa.concat_tables(held)
