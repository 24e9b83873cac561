"""Tests come in random order; what is told in order stays so, and long files come first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FILES = {
    "test_plain.py": "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n",
    "test_story.py": "import pytest\npytestmark = pytest.mark.in_order\n"
    "def test_z(): pass\n@pytest.mark.parametrize('n', [2, 1])\ndef test_y(n): pass\ndef test_x(): pass\n",
    "test_long.py": "import pytest\npytestmark = pytest.mark.long\ndef test_it(): pass\n",
}
STORY = ["test_z", "test_y[2]", "test_y[1]", "test_x"]


def collected(folder: Path, seed: int) -> list[tuple[str, str]]:
    """Return file and name of every test in the order in which they would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "pytest_randomly"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(TESTS / "support")}
    ended = subprocess.run(
        [*command, f"--randomly-seed={seed}"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [(line.partition("::")[0], line.partition("::")[2]) for line in ended.stdout.splitlines() if "::" in line]


def test_the_order_is_random_but_for_stories_and_long_files(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    in_order\n    long\n")
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    orders = [collected(tmp_path, seed) for seed in (1, 2)]
    for order in orders:
        assert [name for file, name in order if file == "test_story.py"] == STORY
        assert order[0][0] == "test_long.py"
        assert len(order) == 9
    one, other = ([name for file, name in order if file == "test_plain.py"] for order in orders)
    assert one != other
    assert sorted(one) == sorted(other)
