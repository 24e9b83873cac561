"""Take the tables that a demo has left behind as what tests look at: a Parquet file each, in ``tests/golden/demo``.

make demo && .venv/bin/python tests/golden/take_demo.py
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable

from offset_sync.tables.catalog import ALL_TABLES

REPOSITORY = Path(__file__).parents[2]
TAKEN = REPOSITORY / "tests" / "golden" / "demo"

if __name__ == "__main__":
    for table in ALL_TABLES:
        rows = DeltaTable(str(REPOSITORY / "data" / "demo" / "tables" / table.name)).to_pyarrow_table()
        pq.write_table(rows, TAKEN / f"{table.name}.parquet", compression="zstd", compression_level=19)
        print(f"{table.name}: {rows.num_rows:,} rows")
