"""The columns of what ``ingest.kafka_source`` reads, as Arrow has them."""

from __future__ import annotations

import pyarrow as pa

CONSUMER_OFFSETS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)
MIRRORED_RECORDS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("origin_header", pa.binary()),
        ("offset_header", pa.binary()),
    ]
)
