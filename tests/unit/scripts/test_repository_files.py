"""What people expect of a repository."""

from __future__ import annotations

import re
from pathlib import Path

import offset_sync

REPO = Path(__file__).resolve().parents[3]


def text_of(name: str) -> str:
    return (REPO / name).read_text(encoding="utf-8")


def test_the_changelog_has_the_version_that_runs_below_what_is_to_come() -> None:
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == offset_sync.__version__
    assert all(date for _, date in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text_of("CHANGELOG.md"), re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
