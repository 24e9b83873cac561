"""Compiles the transform of ``connect/`` for a MirrorMaker 2 of the demo or the tests.

The compiler is Spark's Janino, so a Java runtime without javac is enough; the released jar is built by
``scripts/connect_jar.py`` with javac.
"""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.broker_files import find_jars, find_java

TRANSFORM = "offsetsync.connect.StampOrigin"
# It runs for a second, too short for the optimising compiler.
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SOURCE = Path(__file__).resolve().parents[3] / "connect" / "src" / f"{TRANSFORM.replace('.', '/')}.java"


def compile_transform(classes: Path) -> Path:
    """Compile the transform into the new folder *classes*, and return it for a class path; raises OffsetSyncError."""
    classes.mkdir()
    known = [jar for name in ("connect-api", "kafka-clients", "slf4j-api") for jar in find_jars().glob(f"{name}-*.jar")]
    compile_java(_SOURCE, known, classes)
    return classes


def compile_java(source: Path, known: Sequence[Path], classes: Path) -> None:
    """Compile one file without generics into *classes*, with the jars *known*; raises OffsetSyncError."""
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise OffsetSyncError("pyspark, which has the compiler, is not installed; run: make install")
    spark = Path(pyspark.origin).parent / "jars"
    compiler = [jar for name in ("janino", "commons-compiler") for jar in spark.glob(f"{name}-*.jar")]
    main = "org.codehaus.commons.compiler.samples.CompilerDemo"
    words = ["-d", str(classes), "-classpath", ":".join(map(str, known)), str(source)]
    command = [find_java(), *_JAVA, "-cp", ":".join(map(str, compiler)), main, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode or not any(classes.rglob(f"{source.stem}.class")):
        raise OffsetSyncError(f"{source.name} was not compiled:\n{done.stdout}{done.stderr}")
