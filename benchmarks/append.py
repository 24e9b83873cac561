"""An append of a micro-batch to a Delta table: Spark's writer and ours, side by side in one run.

Prints the wall and the processor time of one append, in seconds, for both and several sizes. The processor time is that
of the driver's JVM and of this process.

    .venv/bin/python benchmarks/append.py [--rows 100 1600 100000] [--appends 10]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from results import save

from offset_sync.jobs.spark_session import open_session
from offset_sync.spark.jvm import java
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore

REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 1600, 100_000])
    parser.add_argument("--appends", type=int, default=10)
    options = parser.parse_args()
    jars = ",".join(str(jar) for jar in sorted((REPOSITORY / "jars" / "spark").glob("*.jar")))
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--jars {jars} --driver-memory 1g pyspark-shell")
    with tempfile.TemporaryDirectory(prefix="offset-sync-append-") as folder:
        rows = measure(Path(folder), options.rows, options.appends)
    save("append", vars(options), rows)


def measure(folder: Path, sizes: list[int], appends: int) -> list[dict[str, object]]:
    """Return what one append costs, after as many to warm up."""
    spark = open_session("append")
    jvm = Path(f"/proc/{java('java.lang.ProcessHandle').current().pid()}/stat")
    results: list[dict[str, object]] = []
    for size in sizes:
        rows = rows_of(size)
        for name in ("spark", "delta-rs"):
            tables = TableStore(str(folder / f"{name}-{size}"))
            tables.create([OFFSET_COMMITS])
            append = (
                partial(append_by_spark, spark, tables) if name == "spark" else partial(tables.append, OFFSET_COMMITS)
            )
            repeat(append, rows, range(appends))
            began, used = time.monotonic(), cpu_seconds(jvm)
            repeat(append, rows, range(appends, 2 * appends))
            wall, processor = time.monotonic() - began, cpu_seconds(jvm) - used
            found = {"writer": name, "rows": size, "wall_s": wall / appends, "processor_s": processor / appends}
            results.append({key: round(v, 3) if isinstance(v, float) else v for key, v in found.items()})
            if tables.all_rows(OFFSET_COMMITS).num_rows != 2 * appends * size:
                raise SystemExit(f"{name}: the table does not hold what was appended")
    return results


def repeat(append: Callable[[pa.Table, tuple[str, int]], None], rows: pa.Table, versions: range) -> None:
    """Append *rows* once for each version, as the micro-batches of a query do."""
    for version in versions:
        append(rows, ("query", version))


def append_by_spark(spark: SparkSession, tables: TableStore, rows: pa.Table, writer: tuple[str, int]) -> None:
    """Append as a DataFrame."""
    write = spark.createDataFrame(rows).coalesce(1).write.format("delta").mode("append")
    write.option("txnAppId", writer[0]).option("txnVersion", writer[1]).save(tables.path(OFFSET_COMMITS))


def rows_of(count: int) -> pa.Table:
    """Return commits of 200 groups."""
    number = np.arange(count)
    columns = {}
    for field in OFFSET_COMMITS.arrow_schema:
        if pa.types.is_string(field.type):
            columns[field.name] = pa.array([f"{field.name}-{n % 200}" for n in number.tolist()])
        elif pa.types.is_boolean(field.type):
            columns[field.name] = pa.array(number % 2 == 0)
        else:
            columns[field.name] = pa.array(number).cast(field.type)
    return pa.table(columns)


def cpu_seconds(jvm: Path) -> float:
    """Return the processor time of the driver's JVM and of this process so far."""
    fields = jvm.read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()


if __name__ == "__main__":
    main()
