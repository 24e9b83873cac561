"""What a Delta table is made of: its columns, as Spark, Arrow and a reader of the documentation see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

_ARROW_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Column:
    """One column: its name, its SQL type, and what it holds."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class Table:
    """One table under ``tables.root``; rows are only ever appended, unless it *is_replaced* as a whole.

    From one that *is_cut* maintenance removes rows that are no longer needed.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    is_replaced: bool = False
    is_cut: bool = False

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return [column.name for column in self.columns]

    @property
    def is_append_only(self) -> bool:
        """Whether Delta refuses every removal of rows."""
        return not (self.is_replaced or self.is_cut)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The same columns as Arrow."""
        return pa.schema([(column.name, _ARROW_TYPES[column.type]) for column in self.columns])

    @property
    def commented_schema(self) -> pa.Schema:
        """The same, with the comment of each column as Delta has it."""
        return pa.schema(
            [pa.field(x.name, _ARROW_TYPES[x.type], metadata={"comment": x.comment}) for x in self.columns]
        )

    @cached_property
    def no_rows(self) -> pa.Table:
        """The same columns without a row."""
        return self.arrow_schema.empty_table()


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of *schema*, null where *rows* have none."""
    return fitted_but_texts(rows, schema).cast(schema)


def fitted_but_texts(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the same; columns of texts stay encoded by dictionaries where they are."""

    def fitted_column(field: pa.Field) -> pa.ChunkedArray:
        if field.name not in rows.column_names:
            return pa.nulls(rows.num_rows, field.type)
        column = rows.column(field.name)
        return column if pa.types.is_dictionary(column.type) else column.cast(field.type)

    return pa.table([fitted_column(each) for each in schema], names=schema.names)


def columns(*lines: str) -> tuple[Column, ...]:
    """Return the columns that *lines* describe: ``name | type | what it holds``."""
    return tuple(Column(*(part.strip() for part in line.split("|", 2))) for line in lines)
