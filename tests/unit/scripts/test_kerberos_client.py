"""The Python client with Kerberos: what it is built from is checked, and what is missing is said in one line."""

from __future__ import annotations

from pathlib import Path

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
