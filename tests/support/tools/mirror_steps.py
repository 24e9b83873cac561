"""What docs/mirrors-steps.md has people type: MirrorMaker's settings and the configuration, in its three ways."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

REPO = Path(__file__).resolve().parents[3]
PAGE = (REPO / "docs" / "mirrors-steps.md").read_text()
WAYS = ("A", "B", "C")


def _blocks(kind: str = "") -> list[str]:
    """Return the blocks of code of one kind, in order."""
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)


def _commands_of(way: str) -> str:
    """Return the commands that make mm2.properties."""
    (block,) = (each for each in _blocks() if "> mm2.properties" in each)
    return re.split(r"^# [A-C]\n", block, flags=re.MULTILINE)[1 + WAYS.index(way)]


def mirror_properties(way: str, folder: Path) -> str:
    """Run the page's commands in the empty *folder*, on the project's recipe; return mm2.properties."""
    (folder / "conf").symlink_to(REPO / "conf")
    subprocess.run(["bash", "-ec", _commands_of(way)], cwd=folder, check=True)
    return (folder / "mm2.properties").read_text()


def read_properties(text: str) -> dict[str, str]:
    """Return the settings of a file of properties, without comments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {key: value for key, _, value in (line.partition(" = ") for line in lines)}


def single_broker_lines(text: str) -> dict[str, str]:
    """Return the last four lines, which are comments, without their ``#``."""
    lines = text.splitlines()[-4:]
    assert all(line.startswith("#") for line in lines), lines
    return read_properties("\n".join(line[1:] for line in lines))


def configuration_tree(way: str) -> dict[str, Any]:
    """Return ``my.yaml``: the page's first block is A's, of which the others replace the last line."""
    first, *others = map(yaml.safe_load, _blocks("yaml"))
    return {**first, **(others[WAYS.index(way) - 1] if way != "A" else {})}
