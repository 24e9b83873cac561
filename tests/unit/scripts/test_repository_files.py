"""What people expect of a repository; the client with Kerberos; reasons for changes that no test notices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kerberos_client
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


def test_an_archive_with_another_hash_is_not_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "sources.tgz"
    packed.write_bytes(b"abc")
    known = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
    kerberos_client.check_hash(packed, known)
    packed.write_bytes(b"abcd")
    with pytest.raises(SystemExit, match=r"^Kerberos client: sources\.tgz has SHA-512 .*nothing was built$"):
        kerberos_client.check_hash(packed, known)
