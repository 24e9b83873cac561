"""Where a path without a scheme leads: to this machine's disk, or to where Hadoop's settings say.

Spark asks Hadoop, which reads ``fs.defaultFS`` from its settings; so they are read here, where there is no JVM.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree


class Places(Protocol):
    """The root of the tables, and how its storage is reached."""

    @property
    def root(self) -> str: ...
    @property
    def storage(self) -> Mapping[str, str]: ...


class HasPlaces(Protocol):
    """A configuration, as far as tables need one."""

    @property
    def tables(self) -> Places: ...


_KEYS = ("fs.defaultFS", "fs.default.name")
_SETTING = re.compile(r"spark\.hadoop\.(?:fs\.defaultFS|fs\.default\.name)\s*[=\s]\s*(\S+)")


def default_file_system(environ: Mapping[str, str]) -> str:
    """Return the file system of paths without a scheme, as ``hdfs://name:8020``; "" for this machine's disk."""
    found = next(_defaults(environ), "file:///")
    return "" if found.startswith("file:") else found.rstrip("/")


def _defaults(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what Hadoop is told of its default file system, what counts most first."""
    given = shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", ""))
    words = [part for word in given for part in (word.split("=", 1) if word.startswith("--") else [word])]
    for word, after in reversed([*pairwise(words)]):
        if word in ("--conf", "-c") and (found := _SETTING.fullmatch(after)):
            yield found[1]
    home = [Path(environ["SPARK_HOME"], "conf")] if environ.get("SPARK_HOME") else []
    of_spark = [Path(environ["SPARK_CONF_DIR"])] if environ.get("SPARK_CONF_DIR") else home
    files = [Path(after) for word, after in reversed([*pairwise(words)]) if word == "--properties-file"][:1]
    if not files or "--load-spark-defaults" in words:
        files += [folder / "spark-defaults.conf" for folder in of_spark]
    for file in files:
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            yield from (found[1] for line in reversed(lines) if (found := _SETTING.fullmatch(line.strip())))
    of_hadoop = [Path(environ[name]) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if environ.get(name)]
    for file in (folder / "core-site.xml" for folder in (*of_spark, *of_hadoop)):
        if file.is_file():
            for each in ElementTree.parse(file).iter("property"):
                value = each.findtext("value")
                if each.findtext("name") in _KEYS and value:
                    yield value.strip()
