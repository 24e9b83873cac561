"""The arrows between the parts of the package: an import against them fails here, with its place."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "lib" / "offset_sync"

# Part -> parts it may import. What is not named here wires the others together and may import all but demo and testing.
INSIDE = {
    "model": set(),
    "errors": set(),
    "faults": set(),
    "config": {"model", "errors"},
    "decode": {"model"},
    "translate": {"model"},
    "kafka": {"model", "errors", "config"},
    "spark": {
        "model",
        "errors",
        "faults",
        "config",
        "decode",
        "translate",
        "planning",
        "settle",
        "settlement",
        "survey",
        "streams",
        "translating",
        "views",
    },
    "views": {"errors"},
    # Of spark only what the tables are made of, see SPARKS.
    "analysis": {"errors", "spark", "views"},
    "planning": {"model", "translate"},
    "settlement": {"model", "errors", "planning", "survey", "translate"},
    "survey": {"model", "errors"},
    "drift": set(),
    "translating": {"model", "errors", "config", "settlement", "translate"},
    "settle": {"model", "errors", "config", "translate", "planning", "settlement", "survey", "translating"},
    # It watches what others offer through protocols; what runs the sync never knows of it.
    "metrics": {"model", "errors", "config", "settlement", "translate"},
    "streams": {"translate"},
    "status": {"model", "translate"},
    "holdings": {"translate"},
    "measuring": {"holdings", "translate"},
    "watching": {"translate"},
    # Only what is written in terms of plain values there: no client, see CLIENTS.
    "sink": {"model", "errors", "kafka"},
    "wording": set(),
    "rollup": {"errors"},
    "selection": {"errors", "rollup"},
    "health": {"rollup", "wording"},
    "status_table": {"health", "rollup", "wording"},
    "status_json": {"health", "rollup"},
    "page": {"health", "rollup", "wording"},
}
# Part -> libraries it may import. What is not named here may import all of them.
LIBRARIES = {
    "model": set(),
    "errors": set(),
    "faults": set(),
    "config": {"pydantic", "pydantic_core", "yaml"},
    "decode": {"numpy", "pyarrow"},
    "translate": {"numpy"},
    "kafka": {"confluent_kafka"},
    "spark": {"delta", "numpy", "pandas", "py4j", "pyarrow", "pyspark"},
    "views": set(),
    "analysis": {"deltalake", "duckdb", "pandas", "plotly"},
    "planning": {"numpy"},
    "settlement": {"numpy"},
    "survey": set(),
    "settle": {"numpy"},
    "drift": set(),
    "translating": set(),
    "metrics": {"numpy", "prometheus_client", "pyarrow"},
    "streams": {"numpy"},
    "status": {"numpy"},
    "holdings": {"numpy"},
    "measuring": {"numpy"},
    "watching": {"numpy"},
    "sink": set(),
    "wording": set(),
    "rollup": {"numpy", "pyarrow"},
    "selection": {"pyarrow"},
    "health": {"pyarrow"},
    "status_table": {"pyarrow", "rich"},
    "status_json": {"pyarrow"},
    "page": {"numpy", "pyarrow"},
}
# Bytes in, values out: no clock, no logging, no chance, nothing of the machine.
PURE = {"model", "errors", "decode", "translate", "planning", "views", "streams", "status", "drift"}
PURE |= {"wording", "rollup", "selection", "health", "status_json", "holdings", "measuring", "watching"}
IMPURE_MODULES = {"asyncio", "logging", "os", "pathlib", "random", "socket", "subprocess", "threading", "time"}
# Executors that only decode and translate have no compiled client, so nothing they load may lead to one.
CLIENTS = {"confluent_kafka"}
WITHOUT_CLIENTS = {
    "model",
    "errors",
    "config",
    "decode",
    "translate",
    "spark",
    "planning",
    "settle",
    "settlement",
    "sink",
    "views",
    "analysis",
}
# A notebook that reads tables starts no JVM.
SPARKS = {"delta", "py4j", "pyspark"}
WITHOUT_SPARK = {"analysis", "views"}


def module_name(path: Path) -> str:
    """Return the dotted name below the package: ``decode.keys``; the package itself is ``""``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return (line, name) of every import in *path*, wherever it stands; a name may end in a class or function."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                folder = ["offset_sync", *path.relative_to(PACKAGE).parts[: -node.level]]
                base = ".".join([*folder, *filter(None, [node.module])])
            else:
                base = node.module or ""
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part_of(module: str) -> str:
    return module.partition(".")[0]


def inner(name: str) -> str | None:
    """Return the module of the package that an imported *name* means; None for a name from elsewhere."""
    if name.partition(".")[0] != "offset_sync":
        return None
    below = name.removeprefix("offset_sync").lstrip(".")
    while below and below not in SOURCES:
        below = below.rpartition(".")[0]
    return below


def offences(allowed: dict[str, set[str]], target: str) -> list[str]:
    found = []
    for module, path in SOURCES.items():
        for line, name in imports(path):
            below, library = inner(name), name.partition(".")[0]
            reached = part_of(below) if below is not None else library
            is_inside = below is not None
            if is_inside != (target == "inside") or reached in ("", part_of(module), "__future__"):
                continue
            if not is_inside and reached in sys.stdlib_module_names:
                continue
            if part_of(module) in allowed and reached not in allowed[part_of(module)]:
                found.append(f"{path.relative_to(PACKAGE)}:{line}: {part_of(module)} must not import {reached}")
    return found


def test_the_parts_import_each_other_only_along_the_arrows() -> None:
    assert offences(INSIDE, "inside") == []


def test_each_part_uses_only_the_libraries_that_are_its_own() -> None:
    assert offences(LIBRARIES, "libraries") == []


def test_the_pure_core_has_no_clock_no_log_and_no_machine() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for module, path in SOURCES.items()
        if part_of(module) in PURE
        for line, name in imports(path)
        if name.partition(".")[0] in IMPURE_MODULES
    ]
    assert found == []


@pytest.mark.parametrize("part", ["demo", "testing"])
def test_nothing_that_runs_in_production_imports(part: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for module, path in SOURCES.items()
        if part_of(module) not in {"demo", "testing"}
        for line, name in imports(path)
        if part_of(inner(name) or "") == part
    ]
    assert found == []


@pytest.mark.parametrize(("parts", "libraries"), [(WITHOUT_CLIENTS, CLIENTS), (WITHOUT_SPARK, SPARKS)])
def test_what_executors_and_notebooks_load_leads_to_no_client_or_engine(parts: set[str], libraries: set[str]) -> None:
    def reaches(module: str, seen: set[str]) -> list[str]:
        seen.add(module)
        for _, name in imports(SOURCES[module]):
            if name.partition(".")[0] in libraries:
                return [module]
            below = inner(name)
            if below and below not in seen and (way := reaches(below, seen)):
                return [module, *way]
        return []

    starts = [module for module in SOURCES if part_of(module) in parts]
    assert [" -> ".join(way) for start in starts if (way := reaches(start, set()))] == []


def test_the_table_of_arrows_names_only_parts_that_exist() -> None:
    parts = {part_of(module) for module in SOURCES}
    assert (INSIDE.keys() | LIBRARIES.keys() | PURE | WITHOUT_CLIENTS | WITHOUT_SPARK) - parts == set()
