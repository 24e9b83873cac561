"""Certificates of a test: a root, and what it signs; made with openssl, PEM, valid for two days."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Authority:
    """A root certificate in *folder*, which signs others."""

    folder: Path

    @property
    def ca(self) -> Path:
        """Return the file of the root certificate."""
        return self.folder / "ca.pem"

    def signed(self, name: str, password: str = "") -> Path:
        """Return a file with a certificate for *name*, which is also its host, and its key, encrypted by *password*."""
        place = self.folder / f"{name}.pem"
        key, chain = self.folder / f"{name}.key", self.folder / f"{name}.crt"
        is_address = "IP" if name.replace(".", "").isdigit() else "DNS"
        signing = ["-CA", str(self.ca), "-CAkey", str(self.folder / "ca.key")]
        _request(name, key, chain, [*signing, "-addext", f"subjectAltName={is_address}:{name}"])
        if password:
            _encrypt(key, password)
        place.write_text(key.read_text() + chain.read_text() + self.ca.read_text())
        return place


def make_authority(folder: Path) -> Authority:
    """Return a new root in *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(folder)
    _request("test root", folder / "ca.key", authority.ca, [])
    return authority


def _request(name: str, key: Path, certificate: Path, options: list[str]) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    places = ["-keyout", str(key), "-out", str(certificate)]
    _openssl(["req", "-x509", "-days", "2", "-subj", f"/CN={name}", *kind, *places, *options])


def _encrypt(key: Path, password: str) -> None:
    """Encrypt a key as Java 17 reads it, which is not what openssl does by itself."""
    clear = key.rename(key.with_suffix(".clear"))
    places = ["-in", str(clear), "-out", str(key)]
    _openssl(["pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", "stdin", *places], password)
    clear.unlink()


def _openssl(words: list[str], password: str = "") -> None:
    made = subprocess.run(["openssl", *words], input=password, capture_output=True, text=True, check=False, timeout=60)
    assert made.returncode == 0, made.stderr
