"""Is the platform the one that this was built with? Asked when a job starts, before there is a session.

What is not there would be found by its first call otherwise: every append would fail, and be tried again, for ever.
The rule for versions is that of ``model/versions.py``, for each jar by itself. A class or method that is missing is
refused, whatever the version. Of jars without a pinned version here, which Spark may bring along as well, it counts
that their classes are there. Executors are not looked at: spark-submit gives them the same jars.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

import pyspark

from offset_sync.model.errors import PlatformError
from offset_sync.model.versions import Match, match_version
from offset_sync.tables.delta.jvm import DriverClasses
from offset_sync.tables.delta.requirements import (
    CHECKPOINT_FORMAT,
    DELTA,
    REQUIRED,
    SPARK,
    Part,
)

PACKAGES = {"pyspark": SPARK, "delta-spark": DELTA}
"""The Python side of both, by the names of their packages."""
REMEDY = (
    "run 'make install' and start the job by spark-submit.sh, which gives Spark the jars of jars/spark; "
    "take away jars of other versions that come from SPARK_HOME, --jars or --packages"
)


class ClassPath(Protocol):
    """What a JVM can load; see :class:`DriverClasses`."""

    def missing(self, name: str, members: Collection[str] = ()) -> list[str]: ...

    def version(self, name: str) -> str: ...

    def jar(self, name: str) -> str: ...

    def checkpoint_format(self) -> str: ...


def check_platform() -> list[str]:
    """Return what has to be said in the log; raises PlatformError, in one line, where the job cannot work."""
    return check(DriverClasses(), REQUIRED, installed_packages())


def check(classes: ClassPath, parts: Iterable[Part], packages: Mapping[str, str] | None = None) -> list[str]:
    """The same for these *parts* and *packages*, the versions that were found of :data:`PACKAGES`."""
    verdicts = [_check_package(name, found) for name, found in (packages or {}).items()]
    verdicts += [_check_part(classes, part) for part in parts]
    problems = [each.problem for each in verdicts if each.problem]
    if not problems and (written := classes.checkpoint_format()) != CHECKPOINT_FORMAT:
        problems.append(f"expected Spark to write checkpoints of format {CHECKPOINT_FORMAT}, found {written}")
    if problems:
        raise PlatformError("; ".join([*problems, REMEDY]))
    return [each.remark for each in verdicts if each.remark]


def installed_packages() -> dict[str, str]:
    """Return the version of each of :data:`PACKAGES`; "" where it was not installed but only unpacked."""
    return {"pyspark": pyspark.__version__, "delta-spark": _installed("delta-spark")}


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


class _Verdict(NamedTuple):
    problem: str = ""
    remark: str = ""


def _check_package(name: str, found: str) -> _Verdict:
    text = f"expected the Python package {name} {PACKAGES[name]}, found {found or 'one of no known version'}"
    match = match_version(PACKAGES[name], found)
    return _Verdict(problem=text) if match is Match.OTHER else _Verdict(remark="" if match is Match.SAME else text)


def _check_part(classes: ClassPath, part: Part) -> _Verdict:
    text, marker = f"expected {part.jar} {part.version}".rstrip(), next(iter(part.classes))
    try:
        classes.missing(marker)
    except LookupError as problem:
        return _Verdict(f"{text}, found none: {problem.args[0]}")
    found = classes.version(marker)
    text = f"{text}, found {found or 'one of no known version'} in {classes.jar(marker)}"
    match = match_version(part.version, found) if part.version else Match.SAME
    if match is Match.OTHER:
        return _Verdict(text)
    if missing := _missing(classes, part.classes):
        return _Verdict(f"{text}: {missing}")
    return _Verdict(remark="" if match is Match.SAME else text)


def _missing(classes: ClassPath, wanted: Mapping[str, str]) -> str:
    """Return what is missing first, "" when all is there."""
    for name, members in wanted.items():
        try:
            missing = classes.missing(name, members.split())
        except LookupError as problem:
            return str(problem.args[0])
        if missing:
            return f"{name} has no {', '.join(missing)}"
    return ""
