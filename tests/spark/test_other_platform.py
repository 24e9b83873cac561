"""Jobs started by spark-submit.sh where a jar is not the one they were built with: one line, and exit code 1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from offset_sync.spark.platform import REMEDY

REPO = Path(__file__).resolve().parents[2]
JARS = REPO / "jars" / "spark"
DELTA_SPARK = "delta-spark_4.2_2.13-4.4.0.jar"
CONFIG = """
clusters:
  dc1: {{kafka: {{bootstrap.servers: "127.0.0.1:1"}}}}
  dc2: {{kafka: {{bootstrap.servers: "127.0.0.1:1"}}}}
topics: {{include: [".*"]}}
tables: {{root: "{0}/tables", checkpoints: "{0}/checkpoints"}}
"""
Entries = Iterator[tuple[str, bytes]]


class Installation:
    """A copy of this one, with jars of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.jars = folder, folder / "jars" / "spark"
        self.jars.mkdir(parents=True)
        (folder / "dist").mkdir()
        for name in ("conf", "jobs", "lib"):
            (folder / name).symlink_to(REPO / name)
        shutil.copy(REPO / "spark-submit.sh", folder)
        shutil.copytree(REPO / "scripts", folder / "scripts")
        for jar in JARS.glob("*.jar"):
            (self.jars / jar.name).symlink_to(jar)
        (folder / "conf.yaml").write_text(CONFIG.format(folder))

    def replace(self, jar: str, edited: Callable[[Entries], Entries], name: str = "") -> Path:
        """Put a jar with other entries in the place of *jar*, under another *name*."""
        (self.jars / jar).unlink()
        made = self.jars / (name or jar)
        with zipfile.ZipFile(JARS / jar) as old, zipfile.ZipFile(made, "w") as new:
            for path, content in edited((path, old.read(path)) for path in old.namelist()):
                new.writestr(path, content)
        return made

    def run(self, job: str, *words: str) -> tuple[int, str, list[str]]:
        """Return exit code, standard output and the lines of standard error, Spark's own among them."""
        command = [self.folder / "spark-submit.sh", job, "--once", "--conf", self.folder / "conf.yaml", *words]
        own = {"PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(self.folder)}
        left_out = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_ENV_LOADED", "PYSPARK_SUBMIT_ARGS")
        environ = {name: value for name, value in os.environ.items() if name not in left_out} | own
        ended = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=300, cwd=self.folder
        )
        return ended.returncode, ended.stdout, ended.stderr.splitlines()


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "installation")


def with_version(version: str) -> Callable[[Entries], Entries]:
    def edited(entries: Entries) -> Entries:
        for path, content in entries:
            yield path, content.replace(b"4.4.0", version.encode()) if path == "META-INF/MANIFEST.MF" else content

    return edited


def test_a_jar_of_another_version_and_one_that_is_missing_end_the_job_with_one_line(installation: Installation) -> None:
    other = installation.replace(DELTA_SPARK, with_version("4.3.1"), DELTA_SPARK.replace("4.4.0", "4.3.1"))
    (installation.jars / "delta-storage-4.4.0.jar").unlink()
    code, out, lines = installation.run("sync_offsets")
    assert lines[-1] == (
        f"expected delta-spark 4.4.0, found 4.3.1 in {other}; "
        "expected delta-storage 4.4.0, found none: java.lang.ClassNotFoundException: io.delta.storage.LogStore; "
        f"{REMEDY}"
    )
    assert (code, out, "Traceback" in "".join(lines)) == (1, "", False)
    assert not (installation.folder / "tables").exists()
