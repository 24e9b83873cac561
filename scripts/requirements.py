"""Print the pinned libraries that the jobs need, one a line as pip reads them. Standard library only.

For what is not a working copy: the image, and the archive for YARN.
"""

from __future__ import annotations

import configparser
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


def requirements(setup_cfg: str) -> list[str]:
    """Return what *setup_cfg* wants installed, without the extras."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(setup_cfg)
    lines = [line.strip() for line in parser.get("options", "install_requires").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


if __name__ == "__main__":
    print("\n".join(requirements((REPO / "setup.cfg").read_text(encoding="utf-8"))))
