"""What setup.cfg pins, what the locks in requirements/ hold, and where the two disagree. Standard library only.

A lock names everything that its pins bring along, each file by its hash, for all Pythons and machines at once:

- ``build``: what sdists are built with;
- ``runtime``: what the jobs need (the extra ``spark`` is part of it), for the image and the archive for YARN;
- ``development``: that and all extras, for `.venv`.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
BUILD, RUNTIME, DEVELOPMENT = LOCKS = ("build", "runtime", "development")
# A name and version, then what belongs to it: a marker, hashes, and the names of those that bring it.
_LOCKED = re.compile(r"^([A-Za-z0-9][\w.-]*)==(\S+)(.*(?:\n .*)*)", re.MULTILINE)


def lock_path(lock: str, repo: Path = REPO) -> Path:
    """Return the file of the lock of this name."""
    return repo / "requirements" / f"{lock}.lock"


def pins(setup_cfg: str, lock: str) -> list[str]:
    """Return what *setup_cfg* wants in this *lock*, in its order, as ``name==version`` with its marker, if any."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(setup_cfg)
    extras = dict(parser.items("options.extras_require"))
    build = extras.pop("build")
    needed = parser.get("options", "install_requires")
    texts = {BUILD: [build], RUNTIME: [needed, extras["spark"]], DEVELOPMENT: [needed, *extras.values()]}[lock]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    # A requirement of two extras is in a lock once.
    return list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def disagreements(setup_cfg: str, lock: str, text: str) -> list[str]:
    """Return a line for each pin that the lock's *text* has not, and for each package there that nothing wants."""
    wanted = dict(map(_name_and_version, pins(setup_cfg, lock)))
    locked = [(_plain(name), version, rest) for name, version, rest in _LOCKED.findall(text)]
    found = []
    for name, version in wanted.items():
        held = sorted({f"{name}=={other}" for locked_name, other, _ in locked if locked_name == name})
        if held != [f"{name}=={version}"]:
            found.append(f"{lock}.lock: has {' and '.join(held) or f'no {name}'}, setup.cfg wants {name}=={version}")
    for name, version, rest in locked:
        if "--hash=" not in rest:
            found.append(f"{lock}.lock: {name}=={version} has no hash")
        if name not in wanted and "# via" not in rest:
            found.append(f"{lock}.lock: nothing wants {name}=={version}")
    return found


def differences(runtime: str, development: str) -> list[str]:
    """Return a line for each file that the text of the *runtime* lock allows and that of *development* does not."""
    tested = {(name, version, digest) for name, version, digest in _files(development)}
    return [
        f"runtime.lock: {name}=={version} differs from that of development.lock"
        for name, version in dict.fromkeys(found[:2] for found in _files(runtime) if found not in tested)
    ]


def _files(text: str) -> list[tuple[str, str, str]]:
    return [
        (_plain(name), version, digest)
        for name, version, rest in _LOCKED.findall(text)
        for digest in re.findall(r"--hash=(\S+)", rest)
    ]


def _name_and_version(pin: str) -> tuple[str, str]:
    name, _, version = pin.partition(";")[0].partition("==")
    return _plain(name), version.strip()


def _plain(name: str) -> str:
    """Return the name of a package as registries compare it: ``PyYAML`` and ``pyyaml`` are one."""
    return re.sub(r"[-_.]+", "-", name).lower()
