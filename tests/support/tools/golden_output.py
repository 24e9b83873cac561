"""What a command says, whole, as a file of tests/golden/outputs; OFFSET_SYNC_GOLDEN=write writes it again."""

from __future__ import annotations

import os
from pathlib import Path

OUTPUTS = Path(__file__).resolve().parents[2] / "golden" / "outputs"


def expect(name: str, text: str) -> None:
    """Fail where *text* is not that of the file; a diff of versions shows what was changed on purpose."""
    path = OUTPUTS / name
    text = "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"
    if os.environ.get("OFFSET_SYNC_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
