"""Small files on any Hadoop file system, whatever the tables and checkpoints lie on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from offset_sync.tables.delta import local_files
from offset_sync.tables.delta.jvm import JavaError, class_of, hadoop_configuration, java


class HadoopFiles:
    """Reads and writes whole files; threads may share it.

    What lies on this machine's disk is read and written without the JVM: Hadoop starts up to three processes for each
    file there (``chmod``, ``readlink``). What Hadoop has noted beside a file, a checksum, goes with what it was of.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._configuration = hadoop_configuration(spark)
        self._default_scheme: str | None = None

    def local(self, path: str) -> Path | None:
        """Return *path* as one of this machine's disk, None if it lies elsewhere."""
        scheme, rest = local_files.parted(path)
        if not scheme:
            if self._default_scheme is None:
                default = java("org.apache.hadoop.fs.FileSystem").getDefaultUri(self._configuration)
                self._default_scheme = str(default.getScheme())
            scheme = self._default_scheme
        return Path(rest) if scheme == "file" else None

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        if (own := self.local(path)) is not None:
            return own.exists()
        file_system, hadoop_path = self._resolve(path)
        return bool(file_system.exists(hadoop_path))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in *folder*, sorted; none where there is no such folder."""
        return sorted(name for name, is_file, _ in self._listed(folder) if is_file)

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in *folder*, sorted; none where there is no such folder."""
        return sorted(name for name, is_file, _ in self._listed(folder) if not is_file)

    def written_ms(self, folder: str) -> dict[str, int]:
        """Return when each of the files in *folder* was last written, in milliseconds since the epoch, by name."""
        return {name: at_ms for name, is_file, at_ms in self._listed(folder) if is_file}

    def _listed(self, folder: str) -> list[tuple[str, bool, int]]:
        """Return name, whether it is a file, and when it was written of all that lies in *folder*."""
        if (own := self.local(folder)) is not None:
            return local_files.listed(own)
        file_system, hadoop_path = self._resolve(folder)
        found = list(file_system.listStatus(hadoop_path)) if file_system.exists(hadoop_path) else []
        return [(str(e.getPath().getName()), bool(e.isFile()), int(e.getModificationTime())) for e in found]

    def names_below(self, folder: str) -> Iterator[str]:
        """Yield the names of the files in *folder* and below, in no order; it has to be there."""
        if (own := self.local(folder)) is not None:
            yield from local_files.names_below(own)
            return
        file_system, hadoop_path = self._resolve(folder)
        files = file_system.listFiles(hadoop_path, True)
        while files.hasNext():
            yield str(files.next().getPath().getName())

    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in milliseconds since the epoch, by the clock of its file system."""
        if (own := self.local(path)) is not None:
            return own.stat().st_mtime_ns // 1_000_000
        file_system, hadoop_path = self._resolve(path)
        with _as_os_errors(path):
            return int(file_system.getFileStatus(hadoop_path).getModificationTime())

    def count(self, folder: str) -> int:
        """Return how many files lie in *folder* and below."""
        if self.local(folder) is not None:
            return sum(1 for _ in self.names_below(folder))
        file_system, hadoop_path = self._resolve(folder)
        return int(file_system.getContentSummary(hadoop_path).getFileCount())

    def read_text(self, path: str) -> str:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            return own.read_bytes().decode()
        file_system, hadoop_path = self._resolve(path)
        with _as_os_errors(path):
            stream = file_system.open(hadoop_path)
            try:
                return str(java("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there; it is stored when this returns."""
        if (own := self.local(path)) is not None:
            own.parent.mkdir(parents=True, exist_ok=True)
            local_files.replace_text(own, text)
            return
        file_system, hadoop_path = self._resolve(path)
        stream = file_system.create(hadoop_path, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def replace_text(self, path: str, text: str) -> None:
        """Write a file in the place of what was there, as Spark writes its checkpoints: all of it or nothing."""
        if self.local(path) is not None:
            return self.write_text(path, text)
        checkpoints = java("org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager")
        manager = checkpoints.create(_to_path(path).getParent(), self._configuration)
        stream = manager.createAtomic(_to_path(path), True)
        try:
            stream.write(text.encode())
        except BaseException:
            stream.cancel()
            raise
        stream.close()

    def sync(self, path: str) -> None:
        """Return when a file, and that it is in its folder, would survive a power failure.

        For a local disk only: the other file systems see to it when a file is closed.
        """
        if (own := self.local(path)) is not None:
            for each in (own, own.parent):
                local_files.sync(each)

    def sync_everything(self, path: str) -> None:
        """The same for all that anybody has written on the disk of *path*: what Spark writes has many files."""
        if self.local(path) is not None:
            os.sync()

    def make_folder(self, folder: str) -> None:
        """Make *folder* unless it is there."""
        if (own := self.local(folder)) is not None:
            return own.mkdir(parents=True, exist_ok=True)
        file_system, hadoop_path = self._resolve(folder)
        file_system.mkdirs(hadoop_path)

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        if (own := self.local(path)) is not None:
            local_files.delete(own)
            return
        file_system, hadoop_path = self._resolve(path)
        file_system.delete(hadoop_path, False)

    def delete_folder(self, folder: str) -> bool:
        """Delete *folder* and all in it; return whether it was there."""
        if (own := self.local(folder)) is not None:
            return local_files.delete_folder(own)
        file_system, hadoop_path = self._resolve(folder)
        return bool(file_system.delete(hadoop_path, True))

    def read_parquet(self, path: str, columns: Sequence[str]) -> pa.Table:
        """Return those of *columns* that a Parquet file has; raises FileNotFoundError where there is no file."""
        with self.open_parquet(path) as file:
            return file.read(columns=list(columns))

    @contextmanager
    def open_parquet(self, path: str, *, encoded: bool = False) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file to be read piece by piece; raises FileNotFoundError where there is none."""
        if (own := self.local(path)) is not None:
            with local_files.open_parquet(own, encoded) as file:
                yield file
            return
        file_system, hadoop_path = self._resolve(path)
        with tempfile.TemporaryDirectory(prefix="offset-sync-") as folder:
            local = Path(folder, "rows.parquet")
            # Without a checksum file beside it; the file's own pages have checksums enough.
            with _as_os_errors(path):
                file_system.copyToLocalFile(False, hadoop_path, _to_path(local.as_uri()), True)
            with local_files.open_parquet(local, encoded) as file:
                yield file

    def write_parquet(self, path: str, rows: pa.Table) -> tuple[str, int]:
        """Write *rows* as a new file; return its qualified name and its size in bytes."""
        return self.write_file(path, lambda place: pq.write_table(rows, place, compression="snappy"))

    def write_file(self, path: str, write: Callable[[Path], None]) -> tuple[str, int]:
        """Store what *write* writes at a place of this machine as a new file; return the same."""
        if (own := self.local(path)) is not None:
            return local_files.write_file(own, write)
        file_system, hadoop_path = self._resolve(path)
        with tempfile.TemporaryDirectory(prefix="offset-sync-") as folder:
            local = Path(folder, "rows.parquet")
            write(local)
            size = local.stat().st_size
            file_system.copyFromLocalFile(True, True, _to_path(local.as_uri()), hadoop_path)
        return str(file_system.makeQualified(hadoop_path).toString()), size

    def qualified(self, path: str) -> str:
        """Return *path* with everything that says where it leads."""
        if (own := self.local(path)) is not None:
            return local_files.qualified(own)
        file_system, hadoop_path = self._resolve(path)
        return str(file_system.makeQualified(hadoop_path).toString())

    def _resolve(self, path: str) -> tuple[Any, Any]:
        hadoop_path = _to_path(path)
        return hadoop_path.getFileSystem(self._configuration), hadoop_path


def _to_path(path: str) -> Any:
    return java("org.apache.hadoop.fs.Path")(path)


@contextmanager
def _as_os_errors(path: str) -> Iterator[None]:
    try:
        yield
    except JavaError as problem:
        if class_of(problem) == "java.io.FileNotFoundException":
            raise FileNotFoundError(path) from problem
        raise OSError(f"{path}: {problem.java_exception.toString()}") from problem
