"""What people expect of a repository is there, and agrees with what it speaks of."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import offset_sync

REPO = Path(__file__).resolve().parents[3]


def text_of(name: str) -> str:
    return (REPO / name).read_text(encoding="utf-8")


def test_hooks_run_what_make_check_runs() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)
    assert recipe is not None
    checks = re.findall(r"^\t@\$\(BIN\)/(.*)$", recipe[1], re.MULTILINE)
    (local,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == [f".venv/bin/{check}" for check in checks]
    # A version in the file would be a second place for what setup.cfg pins.
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_the_changelog_has_the_version_that_runs_below_what_is_to_come() -> None:
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == offset_sync.__version__
    assert all(date for _, date in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text_of("CHANGELOG.md"), re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
