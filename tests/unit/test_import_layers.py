"""The fifteen rooms of the package: an import against the arrows fails here, with its place.

A room may import rooms on a lower level, and itself; nothing beside it and nothing above. Extensions are found by entry
points, so none is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "lib" / "offset_sync"


ROOMS = {
    "model": (1, ""),
    "decode": (1, "numpy pyarrow"),
    "config": (2, "pydantic pydantic_core yaml"),
    "translate": (2, "numpy"),
    "kafka": (2, "aws_msk_iam_sasl_signer confluent_kafka"),
    "spark": (2, "py4j pyspark"),
    "tables": (2, "delta deltalake duckdb hdfs_native numpy obstore pyarrow pyspark"),
    "state": (3, "numpy pyarrow"),
    "ingest": (4, "numpy pyarrow pyspark"),
    "sync": (4, "numpy pyarrow pyspark"),
    "status": (5, "numpy pyarrow rich"),
    "offsets": (6, "numpy"),
    "check": (6, "numpy pyarrow"),
    "cutover": (6, "numpy pyarrow rich"),
    "jobs": (7, "numpy prometheus_client pyarrow pyspark rich"),
}
"""The level of a room, and its own libraries."""
# Bytes and arrays in, values out: no clock, no logging, no chance, nothing of the machine, no client and no table.
PURE = ("model", "decode", "translate")
IMPURE_MODULES = {"asyncio", "logging", "os", "pathlib", "random", "socket", "subprocess", "threading", "time"}
# What executors unpickle that have no compiled client, and what is read without a JVM, may lead to neither.
WITHOUT = {
    "confluent_kafka": "ingest.map_batches ingest.origin_check ingest.run_builder sync.distributed_writer tables",
    "pyspark": "config cutover jobs.early_index kafka state status tables.files tables.maintenance "
    "tables.store tables.views.duckdb",
}


def module_name(path: Path) -> str:
    """Return the dotted name below the package: ``decode.mirror_headers``; the package itself is ``""``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return (line, name) of every import in *path*, at any place; a name may end in a class or function."""
    found = list[tuple[int, str]]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import hides where it leads"
            found += ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
    return found


def room_of(module: str) -> str:
    return module.partition(".")[0]


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
    assert len({level for level, _ in ROOMS.values()}) == 7


def test_rooms_import_only_from_the_levels_below() -> None:
    against = [
        f"{place}: {here} must not import {there}"
        for here, place, name in every_import()
        if (there := room_of(inner(name) or "")) not in ("", here) and here and ROOMS[there][0] >= ROOMS[here][0]
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
        and library not in (ROOMS[here][1].split() if here else ())
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

    wanted = WITHOUT[library].split()
    starts = [each for each in SOURCES if any(f"{each}.".startswith(f"{name}.") for name in wanted)]
    assert len(starts) >= len(wanted)
    assert [" -> ".join(way) for start in starts if (way := way_to_library(start, set()))] == []
