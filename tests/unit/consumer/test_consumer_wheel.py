"""`make consumer`: the wheel of the Python consumer, which is the same whenever it is made, and can be installed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

import consumer_wheel
import offset_sync
import offset_sync_consumer

REPO = Path(__file__).resolve().parents[3]
OF_PYTHON = REPO / "consumer" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return consumer_wheel.build_wheel(tmp_path_factory.mktemp("dist"))


def test_it_is_made_the_same_again_and_takes_the_place_of_older_ones(wheel: Path, tmp_path: Path) -> None:
    for name in ("offset_sync_consumer-0.0.1-py3-none-any.whl", "offset-sync-consumer-0.0.1.jar"):
        (tmp_path / name).write_bytes(b"older")
    again = consumer_wheel.build_wheel(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["offset-sync-consumer-0.0.1.jar", wheel.name]
    assert again.read_bytes() == wheel.read_bytes()


def test_pip_installs_it_and_what_is_installed_can_be_imported(wheel: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "-q"]
    done = subprocess.run([*pip, "--target", str(tmp_path), str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (about,) = tmp_path.glob("*.dist-info")
    installed: Distribution = PathDistribution(about)
    project = tomllib.loads((OF_PYTHON / "pyproject.toml").read_text())["project"]
    assert installed.metadata["Name"] == project["name"] == "offset-sync-consumer"
    assert installed.version == offset_sync.__version__ == offset_sync_consumer.__version__
    assert [(about / "licenses" / name).is_file() for name in ("LICENSE", "NOTICE")] == [True, True]
    assert (tmp_path / "offset_sync_consumer" / "py.typed").is_file()
    assert installed.requires == project["dependencies"] == ["confluent-kafka>=2.16"]
    assert installed.metadata["Requires-Python"] == project["requires-python"]
    assert installed.metadata.get_payload().startswith("# offset-sync-consumer\n")
    told = "import offset_sync_consumer.aio as a; print(a.__file__, a.AIOConsumer.__name__)"
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {told}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert said == f"{tmp_path}/offset_sync_consumer/aio.py AIOConsumer\n"
