"""Pack the libraries of the jobs for YARN: dist/environment.tar.gz, for ``--archives …#environment``.

Without PySpark, which spark-submit brings to every container. The archive holds no interpreter: its Python is a link,
so each node needs the Python of this machine, of the same minor version and at the same path (``--python-prefix`` names
another one), and a C library no older than this machine's.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import venv
from pathlib import Path

import kerberos_client
from environment import client_step, install, locked_steps
from requirements import BUILD, REPO, RUNTIME, lock_path

TARGET = REPO / "dist" / "environment.tar.gz"
_SITE = "lib/python*/site-packages"
_LEFT_OUT = [f"{_SITE}/{name}/*" for name in ("pyspark", "py4j", "pip", "setuptools", "pkg_resources")]


def main() -> None:
    """Build the archive again; one that is cut short never takes the place of a whole one."""
    parser = argparse.ArgumentParser(description="Pack the libraries of the jobs into dist/environment.tar.gz.")
    parser.add_argument("--python-prefix", metavar="PATH", help="where the nodes have their Python, such as /usr/bin")
    parser.add_argument("--kerberos", action="store_true", help="with the Python client that kerberos_client.py builds")
    arguments = parser.parse_args()
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix=".archive-") as scratch:
        environment = Path(scratch, "environment")
        venv.create(environment, with_pip=True, symlinks=True)
        steps = locked_steps(lock_path(RUNTIME), lock_path(BUILD))
        if arguments.kerberos:
            steps |= client_step(kerberos_client.wheel())
        install(steps, environment / "bin" / "python", TARGET.parent)
        packed = pack(environment, Path(scratch, TARGET.name), arguments.python_prefix)
        shutil.move(packed, TARGET)
    print(f"{TARGET}: {TARGET.stat().st_size >> 20} MiB")


def pack(environment: Path, target: Path, python_prefix: str | None = None) -> Path:
    """Pack the virtual *environment* into *target* and return it; what Spark brings is left out."""
    import venv_pack  # a tool of those who deploy, in the extra dev

    found = venv_pack.Env(str(environment))
    for pattern in (*_LEFT_OUT, "bin/*"):
        found = found.exclude(pattern)
    found.include("bin/python*").pack(output=str(target), python_prefix=python_prefix, verbose=False)
    target.chmod(0o644)
    return target


if __name__ == "__main__":
    main()
