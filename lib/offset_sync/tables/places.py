"""Which paths are this machine's, told without asking Hadoop: where its settings could say otherwise, none is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from offset_sync.tables.delta.local_files import parted

_DEFAULT = re.compile(r"\bfs\.default(FS|\.name)\b")
_HADOOPS_OWN = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def local_place(path: str, environ: Mapping[str, str]) -> Path | None:
    """Return *path* on this machine; None where Hadoop has to be asked, also for what its own settings decide."""
    scheme, rest = parted(path)
    if scheme == "file":
        return Path(rest)
    return None if scheme or _has_other_default(environ) else Path(path)


def _has_other_default(environ: Mapping[str, str]) -> bool:
    """Return whether a path without a scheme may lie elsewhere; errs to True."""
    if any(environ.get(name) for name in _HADOOPS_OWN):
        return True
    return any(_DEFAULT.search(text) for text in (environ.get("PYSPARK_SUBMIT_ARGS", ""), *_settings(environ)))


def _settings(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what the files say that a driver started here would read."""
    files = [Path(environ["SPARK_CONF_DIR"])] if environ.get("SPARK_CONF_DIR") else []
    files += [Path(environ["SPARK_HOME"], "conf")] if environ.get("SPARK_HOME") else []
    paths = [folder / name for folder in files for name in ("spark-defaults.conf", "core-site.xml")]
    words = shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", ""))
    named = (after for word, after in pairwise(words) if word == "--properties-file")
    for path in (*paths, *map(Path, named)):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")
