"""Whether tables and checkpoints can be written to; a JVM is started only for what lies on no local disk."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from offset_sync.config import Config
from offset_sync.jobs.checks.finding import Finding, Level
from offset_sync.jobs.open_tables import open_spark
from offset_sync.model.errors import PlatformError
from offset_sync.tables.places import local_place

_PLACE = "tables"


def check_places(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a line for each place; a file is written there and deleted again."""
    places = {"root": config.tables.root, "checkpoints": config.tables.checkpoints}
    elsewhere = {}
    for key, path in places.items():
        if (local := local_place(path, environ)) is None:
            elsewhere[key] = path
        else:
            yield _check_folder(key, local)
    if elsewhere:
        yield from _by_hadoop(elsewhere)


def _check_folder(key: str, folder: Path) -> Finding:
    # What is not there yet is not made: the jobs do that. It has to be possible where it would be made.
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".offset-sync-check-") as file:
            file.write(b"check")
            file.flush()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Finding(Level.FAIL, _PLACE, key, f"{there} cannot be written to ({reason}); let uid {os.getuid()} do it")
    is_there = there == folder.absolute()
    return Finding(Level.OK, _PLACE, key, str(folder) if is_there else f"{folder}, which will be made in {there}")


def _by_hadoop(places: Mapping[str, str]) -> Iterator[Finding]:
    key, place = next(iter(places.items()))
    try:
        spark, is_ours = open_spark("offset-sync check", f"tables.{key}", place)
    except PlatformError as error:
        yield Finding(Level.FAIL, _PLACE, key, str(error).removeprefix(f"{_PLACE}.{key}: "))
        return
    # Imported here: without it nothing of Spark is loaded.
    from offset_sync.tables.delta.filesystem import HadoopFiles
    from offset_sync.tables.delta.jvm import JavaError
    from offset_sync.tables.delta.log_store import check_log_store

    try:
        files = HadoopFiles(spark)
        for key, path in places.items():
            name = f"{path.rstrip('/')}/.offset-sync-check-{uuid.uuid4()}"
            try:
                files.write_text(name, "check")
                files.delete(name)
                if key == "root":
                    check_log_store(spark, path)
            except PlatformError as error:
                yield Finding(Level.FAIL, _PLACE, key, str(error))
            except (JavaError, OSError) as error:  # without Java where the place is local after all
                said = str(error).strip().splitlines()
                reason = next((line.strip() for line in said if "Exception" in line), said[0] if said else "")
                text = f"{path} cannot be written to ({reason[:300]}); set the right to it, or the jars it needs"
                yield Finding(Level.FAIL, _PLACE, key, text)
            else:
                yield Finding(Level.OK, _PLACE, key, path)
    finally:
        if is_ours:
            spark.stop()
