"""What counts as code, which files an import reaches, and that only a file that is too long fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from size import LONGEST_FILE, Source, main

JOB = "lib/offset_sync/jobs/sync_batch.py"
LIB = {
    "lib/offset_sync/__init__.py": "",
    "lib/offset_sync/jobs/__init__.py": "import offset_sync.alone\n",
    JOB: "import os\nfrom typing import TYPE_CHECKING\n\nfrom offset_sync.tables.store import Store\n"
    "if TYPE_CHECKING:\n    from offset_sync.model import words\n",
    "lib/offset_sync/jobs/sync_offsets.py": "import offset_sync.jobs.sync_batch\n",
    "lib/offset_sync/tables/__init__.py": "import offset_sync.alone\n",
    "lib/offset_sync/tables/store.py": "class Store:\n    def read(self):\n"
    "        from offset_sync.tables import views\n        import offset_sync.jobs.sync_batch\n",
    "lib/offset_sync/tables/views/__init__.py": "x = 1\n",
    "lib/offset_sync/model/words.py": "",
    "lib/offset_sync/alone.py": "import offset_sync.tables.store\n",
}


def lib(**changed: str) -> list[Source]:
    return [Source(name, text) for name, text in (LIB | changed).items()]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with the files of LIB, tests and Java, all of them tracked."""
    others = {
        "tests/unit/test_one.py": "assert 1\n",
        "conf/jars/LogStore.java": "",
        "connect/src/Stamp.java": "",
        "tests/support/Cases.java": "",
    }
    for name, text in (LIB | others).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init", "-q"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_file_that_is_too_long_fails_and_is_listed_the_longest_first(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / JOB).write_text("\n" * LONGEST_FILE)
    assert main(repo) == 0
    (repo / JOB).write_text("\n" * (LONGEST_FILE + 1))
    (repo / "lib/offset_sync/alone.py").write_text("# why\n" * (LONGEST_FILE + 2))
    (repo / "tests/unit/test_one.py").write_text("\n" * (LONGEST_FILE + 3))
    capsys.readouterr()
    assert main(repo) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        f"files of lib/offset_sync with more than {LONGEST_FILE} lines: 2",
        f"  lib/offset_sync/alone.py: {LONGEST_FILE + 2}",
        f"  {JOB}: {LONGEST_FILE + 1}",
    ]
