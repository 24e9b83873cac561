"""Make the one jar that is ours, ``jars/spark/offset-sync-log-store.jar``, of the sources in conf/jars.

Standard library only. The compiler is Spark's Janino, so a Java without one will do.
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from prerequisites import find_java

NAME = "offset-sync-log-store.jar"
_MAIN = "org.codehaus.commons.compiler.samples.CompilerDemo"
_KNOWN = (
    *("hadoop-client-api-*", "hadoop-client-runtime-*", "log4j-api-*", "scala-library-*", "slf4j-api-*"),
    *("spark-common-utils*", "spark-sql_*"),
)
"""The jars of Spark that the sources need, and what these need."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_log_store(sources: Sequence[Path], spark_jars: Path, target: Path) -> None:
    """Compile *sources* with what lies in *spark_jars* and beside *target*; raises SystemExit where that fails.

    The same sources give the same jar, byte for byte.
    """
    compiler = [jar for name in ("janino", "commons-compiler") for jar in sorted(spark_jars.glob(f"{name}-*.jar"))]
    known = [jar for name in _KNOWN for jar in sorted(spark_jars.glob(f"{name}.jar"))]
    known += sorted(target.parent.glob("delta-storage-*.jar"))
    with tempfile.TemporaryDirectory(prefix="offset-sync-") as scratch:
        words = ["-d", scratch, "-classpath", ":".join(map(str, known)), *map(str, sources)]
        command = [find_java(), "-cp", ":".join(map(str, compiler)), _MAIN, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        classes = sorted(Path(scratch).rglob("*.class"))
        if done.returncode or len(classes) < len(sources):
            names = ", ".join(source.name for source in sources)
            raise SystemExit(f"Jars: {names} was not compiled:\n{done.stdout}{done.stderr}")
        target.unlink(missing_ok=True)  # a jar that another installation may share is not written into
        with zipfile.ZipFile(target, "w") as jar:
            for each in classes:
                jar.writestr(zipfile.ZipInfo(each.relative_to(scratch).as_posix(), _EPOCH), each.read_bytes())
