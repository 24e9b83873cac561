"""The sixteen rooms of the package: an import against the arrows fails here, with its place.

A room may import rooms on a lower level, and itself; nothing beside it and nothing above. Extensions are found by entry
points, so none is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.no_cover
PACKAGE = Path(__file__).resolve().parents[2] / "lib" / "offset_sync"


class Room(NamedTuple):
    """The level of a room, and its own libraries."""

    level: int
    libraries: frozenset[str]


def room(level: int, libraries: str = "") -> Room:
    return Room(level, frozenset(libraries.split()))


ROOMS = {
    "model": room(1),
    "decode": room(1, "numpy pyarrow"),
    "config": room(2, "pydantic pydantic_core yaml"),
    "translate": room(2, "numpy"),
    "kafka": room(2, "aws_msk_iam_sasl_signer confluent_kafka"),
    "spark": room(2, "py4j pyspark"),
    "terminal": room(2, "rich"),
    "tables": room(2, "delta deltalake duckdb numpy pyarrow pyspark"),
    "state": room(3, "numpy pyarrow"),
    "ingest": room(4, "numpy pyarrow pyspark"),
    "sync": room(4, "numpy pyarrow pyspark"),
    "status": room(5, "numpy pyarrow rich"),
    "offsets": room(6, "numpy"),
    "check": room(6, "numpy pyarrow"),
    "cutover": room(6, "numpy pyarrow rich"),
    "jobs": room(7, "numpy prometheus_client pyarrow pyspark rich"),
}
# Bytes and arrays in, values out: no clock, no logging, no chance, nothing of the machine, no client and no table.
PURE = ("model", "decode", "translate")
IMPURE_MODULES = {"asyncio", "logging", "os", "pathlib", "random", "socket", "subprocess", "threading", "time"}
# What executors unpickle that have no compiled client, and what is read without a JVM, may lead to neither.
WITHOUT = {
    "confluent_kafka": (
        "ingest.map_batches",
        "ingest.origin_check",
        "ingest.run_builder",
        "sync.distributed_writer",
        "tables",
    ),
    "pyspark": (
        "config",
        "cutover",
        "jobs.early_index",
        "kafka",
        "state",
        "status",
        "tables.maintenance",
        "tables.storage_check",
        "tables.store",
        "tables.views.duckdb",
    ),
}


def module_name(path: Path) -> str:
    """Return the dotted name below the package: ``decode.cursor``; the package itself is ``""``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return every node of the syntax of *path*."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return (line, name) of every import in *path*, at any place; a name may end in a class or function."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import hides where it leads"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def room_of(module: str) -> str:
    """Return the room of *module*."""
    return module.partition(".")[0]


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def inner(name: str) -> str | None:
    """Return the module of the package that an imported *name* means; None for a name from elsewhere."""
    if name.partition(".")[0] != "offset_sync":
        return None
    below = name.removeprefix("offset_sync").lstrip(".")
    while below and below not in SOURCES:
        below = below.rpartition(".")[0]
    return below


def every_import() -> Iterator[tuple[str, str, str]]:
    """Yield (room, place, name imported) of the whole package."""
    for module, path in SOURCES.items():
        for line, name in imports(path):
            yield room_of(module), f"{path.relative_to(PACKAGE)}:{line}", name


def test_the_package_is_its_rooms() -> None:
    assert {room_of(module) for module in SOURCES} - {""} == ROOMS.keys()
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "__init__.py", "py.typed"}
    assert entries == ROOMS.keys()
    assert len({each.level for each in ROOMS.values()}) == 7


def test_rooms_import_only_from_the_levels_below() -> None:
    against = [
        f"{place}: {here} must not import {there}"
        for here, place, name in every_import()
        if (there := room_of(inner(name) or "")) not in ("", here) and here and ROOMS[there].level >= ROOMS[here].level
    ]
    assert against == []


def test_no_import_leads_back() -> None:
    ahead = {
        module: {inner(name) for _, name in imports(path)} - {None, "", module} for module, path in SOURCES.items()
    }
    while free := {module for module in ahead if not ahead[module] & ahead.keys()}:
        ahead = {module: others for module, others in ahead.items() if module not in free}
    assert sorted(ahead) == [], "these import each other in a circle, or what does"


def test_each_room_uses_only_the_libraries_that_are_its_own() -> None:
    against = [
        f"{place}: {here} must not import {library}"
        for here, place, name in every_import()
        if inner(name) is None
        and (library := name.partition(".")[0]) not in {"__future__", *sys.stdlib_module_names}
        and library not in (ROOMS[here].libraries if here else ())
    ]
    assert against == []


def test_the_pure_core_has_no_clock_no_log_and_no_machine_and_imports_only_what_is_pure() -> None:
    pure = [(place, name) for here, place, name in every_import() if here in PURE]
    assert [each for each in pure if each[1].partition(".")[0] in IMPURE_MODULES] == []
    assert [each for each in pure if room_of(inner(each[1]) or "") not in ("", *PURE)] == []


@pytest.mark.parametrize("library", WITHOUT)
def test_what_executors_and_notebooks_load_leads_to_no_client_and_no_engine(library: str) -> None:
    def way_to_library(module: str, seen: set[str]) -> list[str]:
        seen.add(module)
        for _, name in imports(SOURCES[module]):
            if name.partition(".")[0] == library:
                return [module]
            below = inner(name)
            if below and below not in seen and (way := way_to_library(below, seen)):
                return [module, *way]
        return []

    starts = [each for each in SOURCES if any(is_within(each, name) for name in WITHOUT[library])]
    assert len(starts) >= len(WITHOUT[library])
    assert [" -> ".join(way) for start in starts if (way := way_to_library(start, set()))] == []
