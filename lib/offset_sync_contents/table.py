"""The table of this package, which ``index_records`` makes beside the others."""

from __future__ import annotations

from offset_sync.tables.definition import Table, columns

RECORD_FINGERPRINTS = Table(
    "record_fingerprints",
    "Hashes of records, where the mirror stamps no headers, for as long as it may re-send them. A row is a stretch of "
    "a log; a micro-batch has no gap.",
    columns(
        "cluster | string | cluster of this log",
        "topic | string | topic",
        "partition | int | partition",
        "start_offset | bigint | first offset of the stretch",
        "length | bigint | offsets in it",
        "offsets | binary | of the records, 8 bytes each, little-endian; null: every offset has one",
        "fingerprints | binary | hashes of the records, likewise",
        "read_at | timestamp | when it was read",
        "complete_until | timestamp | all that the log held then is read up to here; null: unknown",
    ),
    is_cut=True,
)
