"""Small files on any Hadoop file system, whatever the tables and checkpoints lie on."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import JavaError, class_of, hadoop_configuration, java


class HadoopFiles:
    """Reads and writes whole files in the driver's JVM; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        self._configuration = hadoop_configuration(spark)

    def local(self, path: str) -> Path | None:
        """Return *path* as one of this machine's disk, None if it lies elsewhere."""
        file_system, hadoop_path = self._resolve(path)
        return Path(hadoop_path.toUri().getPath()) if file_system.getScheme() == "file" else None

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        file_system, hadoop_path = self._resolve(path)
        return bool(file_system.exists(hadoop_path))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""
        return sorted(str(each.getPath().getName()) for each in self._listed(folder) if each.isFile())

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in *folder*, sorted; none where there is no such folder."""
        return sorted(str(each.getPath().getName()) for each in self._listed(folder) if not each.isFile())

    def written_ms(self, folder: str) -> dict[str, int]:
        """Return when each of the files in *folder* was last written, in milliseconds since the epoch, by name."""
        files = [each for each in self._listed(folder) if each.isFile()]
        return {str(each.getPath().getName()): int(each.getModificationTime()) for each in files}

    def _listed(self, folder: str) -> list[Any]:
        file_system, hadoop_path = self._resolve(folder)
        return list(file_system.listStatus(hadoop_path)) if file_system.exists(hadoop_path) else []

    def names_below(self, folder: str) -> Iterator[str]:
        """Yield the names of the files in *folder* and below, in no order; it has to be there."""
        file_system, hadoop_path = self._resolve(folder)
        files = file_system.listFiles(hadoop_path, True)
        while files.hasNext():
            yield str(files.next().getPath().getName())

    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in milliseconds since the epoch, by the clock of its file system."""
        file_system, hadoop_path = self._resolve(path)
        with _missing_files_named(path):
            return int(file_system.getFileStatus(hadoop_path).getModificationTime())

    def count(self, folder: str) -> int:
        """Return how many files lie in *folder* and below."""
        file_system, hadoop_path = self._resolve(folder)
        return int(file_system.getContentSummary(hadoop_path).getFileCount())

    def read_text(self, path: str) -> str:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            return own.read_bytes().decode()
        file_system, hadoop_path = self._resolve(path)
        with _missing_files_named(path):
            stream = file_system.open(hadoop_path)
        try:
            return str(java("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there; it is stored when this returns."""
        file_system, hadoop_path = self._resolve(path)
        stream = file_system.create(hadoop_path, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        self.sync(path)

    def replace_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there, as Spark writes its checkpoints: all of it or nothing."""
        checkpoints = java("org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager")
        manager = checkpoints.create(_to_path(path).getParent(), self._configuration)
        stream = manager.createAtomic(_to_path(path), True)
        try:
            stream.write(text.encode())
        except BaseException:
            stream.cancel()
            raise
        stream.close()
        self.sync(path)

    def sync(self, path: str) -> None:
        """Return when a file, and that it is in its folder, would survive a power failure.

        For a local disk only: the other file systems see to it when a file is closed.
        """
        if (own := self.local(path)) is not None:
            for each in (own, own.parent):
                _sync(each)

    def sync_everything(self, path: str) -> None:
        """The same for all that anybody has written on the disk of *path*: what Spark writes has many files."""
        if self.local(path) is not None:
            os.sync()

    def make_folder(self, folder: str) -> None:
        """Make *folder* unless it is there."""
        file_system, hadoop_path = self._resolve(folder)
        file_system.mkdirs(hadoop_path)

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        file_system, hadoop_path = self._resolve(path)
        file_system.delete(hadoop_path, False)

    def delete_folder(self, folder: str) -> bool:
        """Delete *folder* and all in it; return whether it was there."""
        file_system, hadoop_path = self._resolve(folder)
        return bool(file_system.delete(hadoop_path, True))

    def read_parquet(self, path: str, columns: list[str]) -> pa.Table:
        """Return columns of a Parquet file; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            return pq.read_table(own, columns=columns, partitioning=None)
        file_system, hadoop_path = self._resolve(path)
        with tempfile.TemporaryDirectory(prefix="offset-sync-") as folder:
            local = Path(folder, "rows.parquet")
            # Without a checksum file beside it; the file's own pages have checksums enough.
            with _missing_files_named(path):
                file_system.copyToLocalFile(False, hadoop_path, _to_path(local.as_uri()), True)
            return pq.read_table(local, columns=columns)

    def write_parquet(self, path: str, rows: pa.Table) -> tuple[str, int]:
        """Write *rows* as a new file; return its qualified name and its size in bytes."""
        file_system, hadoop_path = self._resolve(path)
        if (own := self.local(path)) is not None:
            pq.write_table(rows, own, compression="snappy")
            self.sync(path)
            return str(file_system.makeQualified(hadoop_path).toString()), own.stat().st_size
        with tempfile.TemporaryDirectory(prefix="offset-sync-") as folder:
            local = Path(folder, "rows.parquet")
            pq.write_table(rows, local, compression="snappy")
            size = local.stat().st_size
            file_system.copyFromLocalFile(True, True, _to_path(local.as_uri()), hadoop_path)
        return str(file_system.makeQualified(hadoop_path).toString()), size

    def _resolve(self, path: str) -> tuple[Any, Any]:
        hadoop_path = _to_path(path)
        return hadoop_path.getFileSystem(self._configuration), hadoop_path


def _to_path(path: str) -> Any:
    return java("org.apache.hadoop.fs.Path")(path)


@contextmanager
def _missing_files_named(path: str) -> Iterator[None]:
    try:
        yield
    except JavaError as problem:
        if class_of(problem) == "java.io.FileNotFoundException":
            raise FileNotFoundError(path) from problem
        raise


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json_lines(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text with one per line."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]
