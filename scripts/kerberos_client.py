"""Build a Python client with Kerberos into dist/kerberos/: a wheel of confluent-kafka, with librdkafka linked into it.

The wheels of the registry have a librdkafka without Cyrus SASL, and no registry has librdkafka by itself. Its sources
come with the client for Node.js; what that has decides about the version. Both archives are checked by their hashes.
Take the wheel into an environment by ``pip install --no-deps --force-reinstall dist/kerberos/*.whl``.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import stamp
from progress import run_shown
from requirements import REPO

TARGET = REPO / "dist" / "kerberos"
VERSION = "2.15.1"
"""Of confluent-kafka and of librdkafka."""
SOURCES = "@confluentinc/kafka-javascript@1.10.1"
SOURCES_SHA512 = "KVePUBn21EqCVP9mfxzEuM3SYJHHEF7X+iiC2e43QQgDSyEaksInmCGooT3w5q+cNAdkSCrK71j0ICfqoSqZLw=="
SDIST_SHA256 = "99d1223020e27854e75981333983c5120d64762268f8afcc805fbd62e7de49aa"
_PACKAGES = "g++ make npm pkg-config libcurl4-openssl-dev libsasl2-dev libssl-dev libzstd-dev zlib1g-dev python3-dev"
_COMMANDS = ("gcc", "g++", "make", "npm", "pkg-config")
_LIBRARIES = ("libcurl", "libsasl2", "libssl", "libzstd", "zlib")
_LINKED = ("curl", "sasl2", "ssl", "crypto", "zstd", "z", "m", "dl", "pthread")


def main() -> None:
    """Build the wheel of this Python, unless it is there."""
    print(wheel())


def wheel() -> Path:
    """Return the wheel of this Python, built where it is not there yet. Raises SystemExit where that cannot be done."""
    made_from = stamp.digest(sys.version, Path(__file__).read_text(encoding="utf-8"))
    if not stamp.is_current(TARGET, made_from):
        check_prerequisites()
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix=".kerberos-") as scratch:
            _build(Path(scratch))
        stamp.remember(TARGET, made_from)
    (built,) = TARGET.glob("*.whl")
    return built


def check_prerequisites() -> None:
    """Raise SystemExit, in one line, where a tool or a library is missing."""
    missing = [name for name in _COMMANDS if shutil.which(name) is None]
    if not missing:
        missing = [name for name in _LIBRARIES if subprocess.run(["pkg-config", name], check=False).returncode]
    if missing:
        remedy = f"on Debian and Ubuntu: apt-get install {_PACKAGES}"
        raise SystemExit(f"Kerberos client: {', '.join(missing)} missing, needed to build it; {remedy}")


def _build(scratch: Path) -> None:
    command = ["npm", "pack", SOURCES, "--ignore-scripts", f"--pack-destination={scratch}"]
    run_shown("Sources of librdkafka", command, lambda line: None, scratch / "npm.log")
    (archive,) = scratch.glob("*.tgz")
    check_hash(archive, SOURCES_SHA512)
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    source = scratch / "package" / "deps" / "librdkafka"
    _run("librdkafka", ["./configure", "--enable-gssapi", "--enable-ssl", "--disable-lz4-ext"], source)
    _run("librdkafka", ["make", "-C", "src", f"-j{os.cpu_count()}", "librdkafka.a"], source)
    headers = scratch / "include" / "librdkafka"
    headers.mkdir(parents=True)
    shutil.copy(source / "src" / "rdkafka.h", headers)
    shutil.copy(source / "src" / "rdkafka_mock.h", headers)
    pinned = scratch / "pinned.txt"
    pinned.write_text(f"confluent-kafka=={VERSION} --hash=sha256:{SDIST_SHA256}\n", encoding="utf-8")
    words = [*("wheel", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--require-hashes"), "--no-binary=:all:"]
    words += [f"--wheel-dir={TARGET}", f"--requirement={pinned}"]
    # All of librdkafka, as its functions are called by name too (lib/offset_sync/kafka/librdkafka.py).
    linked = ["-Wl,--no-as-needed", f"-L{source / 'src'}", "-Wl,--whole-archive,-l:librdkafka.a,--no-whole-archive"]
    environment = {"CFLAGS": f"-I{scratch / 'include'}"}
    environment["LDFLAGS"] = " ".join([*linked, *(f"-l{name}" for name in _LINKED)])
    (source / "src" / "librdkafka.so").unlink(missing_ok=True)  # -lrdkafka finds the archive
    _run("confluent-kafka", [sys.executable, "-m", "pip", *words], scratch, environment)


def check_hash(archive: Path, sha512: str) -> None:
    """Raise SystemExit unless the file has this hash, in base64."""
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != sha512:
        raise SystemExit(f"Kerberos client: {archive.name} has SHA-512 {found}, expected {sha512}; nothing was built")


def _run(title: str, command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    words = ["env", f"--chdir={folder}", *command]
    run_shown(title, words, lambda line: None, TARGET / "build.log", environment=os.environ | (environment or {}))


if __name__ == "__main__":
    main()
