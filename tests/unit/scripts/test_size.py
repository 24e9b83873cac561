"""Code that is larger than its limits fails, and so does a file that is too long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from size import LONGEST_FILE, main

FILES = {
    "lib/offset_sync/jobs/sync_batch.py": "# why\n" * LONGEST_FILE,
    "tests/unit/test_one.py": "\n" * 500,
    "pyproject.toml": '[tool.size]\n"lines, tests" = [500]\n',
}


def test_a_figure_above_its_limit_fails_a_limit_of_nothing_and_a_file_too_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init", "-q"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert main(tmp_path) == 0
    for name, text in (("tests/unit/test_one.py", "\n"), ("lib/offset_sync/jobs/sync_batch.py", "# why\n")):
        (tmp_path / name).write_text(FILES[name] + text)
        capsys.readouterr()
        assert main(tmp_path) == 1
        said = capsys.readouterr().out
        (tmp_path / name).write_text(FILES[name])
        assert ("ABOVE ITS LIMIT" in said) == name.startswith("tests")
        assert (f"sync_batch.py: {LONGEST_FILE + 1}" in said) == name.startswith("lib")
