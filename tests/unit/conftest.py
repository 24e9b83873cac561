"""Tables on this disk for the tests here; they are copied from a template, which costs next to nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from offset_sync.tables.store import TableStore


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every table, empty."""
    root = tmp_path_factory.mktemp("template")
    TableStore(str(root)).create()
    return root


@pytest.fixture
def tables(template: Path, tmp_path: Path) -> TableStore:
    """Empty tables of this test only."""
    return TableStore(str(shutil.copytree(template, tmp_path / "tables")))
