"""Rows of tables as Arrow: joined to pieces, matched by values, and with their topics renamed.

Rows in a table have the topic names of the row's cluster; callers of the store use streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table, fitted

_ROW, _PARTNER = "__row", "__partner"
_WORTH_A_BATCH = 100_000
Renamed = Callable[[str, str], str]
"""Takes the alias of a cluster and a topic's name there or inside; returns the other of the two."""
TOPIC = "topic"
_ANSWERED = ("stream", "target_cluster", "target_topic")
ANSWERS = (OFFSET_TRANSLATIONS, LAST_KNOWN)
"""The tables of which rows are answers, or some of them."""


def cluster_of(table: Table) -> str | None:
    """Return the column with the cluster whose name a row's ``topic`` is; None where it is a stream."""
    return (
        "source_cluster"
        if table is OFFSET_TRANSLATIONS
        else "cluster"
        if {"cluster", TOPIC} <= {*table.names}
        else None
    )


def needed_of(table: Table) -> tuple[str, ...]:
    """Return the columns of a row that tell its stream."""
    cluster = cluster_of(table)
    return (*([cluster] if cluster else []), *(_ANSWERED if table in ANSWERS else ()))


class TopicNames(Protocol):
    """Names of topics at clusters, see :class:`offset_sync.config.stream_names.Names`."""

    @property
    def is_same(self) -> bool:
        """Whether every topic has the same name everywhere."""

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream that *cluster* calls *topic*."""

    def outside(self, cluster: str, stream: str) -> str:
        """Return the name of *stream* at *cluster*; the stream itself where it has none."""


def renamed(rows: pa.Table, cluster: str, name_of: Renamed) -> pa.Table:
    """Return *rows* with their topics renamed by *name_of*; the column *cluster* says where.

    Each name is looked up once per cluster; topics that are encoded by a dictionary stay so.
    """
    if rows.num_rows == 0:
        return rows
    cluster_and_topic = (rows.column(name).cast(pa.string()) for name in (cluster, TOPIC))
    places = pc.binary_join_element_wise(*cluster_and_topic, "\0").combine_chunks().dictionary_encode()
    names = pa.array([name_of(*each.split("\0")) for each in places.dictionary.to_pylist()], pa.string())
    column = names.take(places.indices)
    if pa.types.is_dictionary(rows.schema.field(TOPIC).type):
        column = column.dictionary_encode()
    return rows.set_column(rows.column_names.index(TOPIC), TOPIC, column)


def answered_as_now(rows: pa.Table, names: TopicNames) -> pa.Table:
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
    asked = rows.select(list(names)).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    known = few.select(list(names)).append_column(_PARTNER, pa.array(np.arange(few.num_rows)))
    schema = pa.schema([known.schema.field(name) for name in names])
    asked = asked.cast(pa.schema([*schema, asked.schema.field(_ROW)]))
    found = asked.join(known, list(names), join_type="inner", use_threads=False)
    partner = np.full(rows.num_rows, -1, np.int64)
    partner[found.column(_ROW).to_numpy()] = found.column(_PARTNER).to_numpy()
    return partner


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
