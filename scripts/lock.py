"""Write the locks of requirements/ again from the pins in setup.cfg; with ``--check`` say where they disagree, offline.

What was locked stays as it is where the pins allow it: ``--upgrade`` takes the newest of everything that is not pinned.
A pin without wheels for one of the Pythons and machines that pyproject.toml names is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from requirements import BUILD, DEVELOPMENT, LOCKS, REPO, RUNTIME, differences, disagreements, lock_path, pins


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Write the locks, giving *words* on to the resolver, or check them; the exit code is 1 where that fails."""
    setup_cfg = (REPO / "setup.cfg").read_text(encoding="utf-8")
    if list(words) == ["--check"]:
        check(setup_cfg)
        return
    for lock in (BUILD, DEVELOPMENT):
        _write(lock, pins(setup_cfg, lock), known=lock_path(lock), words=words)
    # What the jobs run with is what was tested: the versions of the lock just written, whatever came out since.
    _write(RUNTIME, pins(setup_cfg, RUNTIME), known=lock_path(DEVELOPMENT), words=())


def check(setup_cfg: str, repo: Path = REPO) -> None:
    """Raise SystemExit unless the locks of *repo* hold what *setup_cfg* pins, and the same in each; asks no network."""
    texts = {lock: lock_path(lock, repo).read_text(encoding="utf-8") for lock in LOCKS}
    found = [line for lock, text in texts.items() for line in disagreements(setup_cfg, lock, text)]
    if found := [*found, *differences(texts[RUNTIME], texts[DEVELOPMENT])]:
        raise SystemExit("\n".join([*found, "run: make lock"]))


def _write(lock: str, wanted: Sequence[str], known: Path, words: Sequence[str]) -> None:
    """Resolve *wanted* into the *lock*, keeping to the versions of the *known* one; a failure leaves the lock alone."""
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "lock")
        if known.is_file():
            shutil.copyfile(known, written)
        command = [*_RESOLVER, f"--output-file={written}", *words]
        if subprocess.run(command, input="\n".join(wanted), text=True, check=False, cwd=REPO).returncode:
            raise SystemExit(f"{lock_path(lock)}: unchanged")
        text = written.read_text(encoding="utf-8").replace(_AS_WRITTEN, _AS_READ)
        lock_path(lock).write_text(text, encoding="utf-8")
    print(f"{lock_path(lock)}: written")


# For pip :all: takes back what was said before it.
_AS_WRITTEN = "--no-binary pyspark\n--only-binary :all:\n"
_AS_READ = "--only-binary :all:\n--no-binary pyspark\n"
_RESOLVER = [
    *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "-", "--quiet", f"--python={sys.executable}"),
    # PySpark's sdist is the only one; everything else comes as wheels, also if the lock is installed by hand.
    *("--only-binary=:all:", "--no-binary=pyspark", "--emit-build-options", "--generate-hashes"),
    # One file for all Pythons; no registry is named in it, so that pip asks the configured one.
    *("--universal", "--python-version=3.11", "--no-emit-index-url", "--custom-compile-command=make lock"),
]


if __name__ == "__main__":
    main()
