"""The Python client with Kerberos: what it is built from is checked, and what is missing is said in one line."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import kerberos_client


def test_an_archive_with_another_hash_is_not_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "sources.tgz"
    packed.write_bytes(b"abc")
    known = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
    kerberos_client.check_hash(packed, known)
    packed.write_bytes(b"abcd")
    with pytest.raises(SystemExit, match=r"^Kerberos client: sources\.tgz has SHA-512 .*nothing was built$"):
        kerberos_client.check_hash(packed, known)


def test_what_is_missing_is_said_with_the_packages_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos_client.shutil, "which", lambda name: None if name == "npm" else f"/usr/bin/{name}")
    with pytest.raises(SystemExit, match=r"^Kerberos client: npm missing, .*apt-get install g\+\+ make npm ") as ended:
        kerberos_client.check_prerequisites()
    assert "\n" not in str(ended.value)
    monkeypatch.setattr(kerberos_client.shutil, "which", lambda name: f"/usr/bin/{name}")
    absent = "libsasl2"

    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, int(words[1] == absent))

    monkeypatch.setattr(kerberos_client.subprocess, "run", run)
    with pytest.raises(SystemExit, match="libsasl2 missing"):
        kerberos_client.check_prerequisites()
    absent = ""
    kerberos_client.check_prerequisites()
