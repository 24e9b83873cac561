"""Notebooks as files: parameters in one place, nothing but calls of the package, and no output from anyone's tables."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))
LONGEST_CELL = 16


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_keeps_no_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in code_cells(path) if cell.outputs or cell.execution_count is not None] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_code_cell_holds_the_parameters_each_with_its_meaning(path: Path) -> None:
    cells = code_cells(path)
    assert [cell.id for cell in cells if "parameters" in cell.metadata.get("tags", [])] == [cells[0].id]
    assert {type(statement) for statement in ast.parse(cells[0].source).body} == {ast.Assign}
    assert [line for line in cells[0].source.splitlines() if "  # " not in line] == []
    assert cells[0].source.startswith('root = "../data/demo/tables"')


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_only_calls_what_the_package_does(path: Path) -> None:
    for cell in code_cells(path):
        assert len(cell.source.splitlines()) <= LONGEST_CELL, cell.id
        assert "SELECT" not in cell.source, cell.id
        kinds = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda)
        assert not any(isinstance(node, kinds) for node in ast.walk(ast.parse(cell.source))), cell.id
