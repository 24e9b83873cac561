"""Fetch the jars of conf/jars/ivy.xml into jars/{spark,broker,mirror,streams}; nothing to do where they are there.

With names, as in ``jars.py spark``, only those folders: an image needs no brokers. ``jars.py cluster`` fetches what
only `make test-cluster` needs, into jars/cluster/{hadoop,s3proxy,s3a}, ``jars.py versions`` the brokers of
`make test-versions`, and ``jars.py clients`` the versions of kafka-clients that tests of the interceptor run with. Ivy
comes with pyspark, so Java and the virtual environment are all it takes.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import stamp
from prerequisites import find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
JARS = REPO / "jars"
LOG = REPO / ".venv" / "install-jars.log"
CONF = REPO / "conf" / "jars"
INSTALLED, CLUSTER = ("spark", "broker", "mirror", "streams"), ("hadoop", "s3proxy", "s3a")
CLIENTS = ("clients-2.1", "clients-2.8", "clients-3.6", "clients-4.0", "clients-4.4", "spring")
VERSIONS = ("broker-3.6", "broker-3.9", "broker-4.0", "broker-4.4")
_APART = {"cluster": CLUSTER, "clients": CLIENTS, "versions": VERSIONS}
_ATTEMPTS = 3


def main(folders: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Bring `jars/`, or these *folders* of it, up to date; a jar that no longer belongs there is removed."""
    os.chdir(REPO)  # Ivy reads its patterns relative to here, so no character of this folder's name can mislead it
    pinned = (CONF / "ivy.xml").read_text()
    made_from = stamp.digest(pinned, *folders)
    apart = folders[0] if len(folders) == 1 and folders[0] in _APART else None
    root, folders = (JARS / apart, _APART[apart]) if apart else (JARS, folders)
    wanted = wanted_jars(pinned, folders)
    if stamp.is_current(root, made_from) and all((root / jar).is_file() for jar in wanted):
        return
    root.mkdir(parents=True, exist_ok=True)
    stamp.forget(root)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _retrieve(len(wanted), folders, root)
            break
        except SystemExit as failure:  # a registry that stumbles is asked again: what came through is in Ivy's cache
            if attempt == _ATTEMPTS:
                raise
            print(f"{failure}\nJars: retrying", flush=True)
    if missing := [jar for jar in wanted if not (root / jar).is_file()]:
        raise SystemExit(f"Jars: Ivy left out {', '.join(missing)}; see {LOG}")
    stamp.remember(root, made_from)


def wanted_jars(ivy_xml: str, folders: Sequence[str] = ()) -> list[str]:
    """Return folder and name of every jar that *ivy_xml* pins for *folders*, by default for those of an installation.

    Raises SystemExit for a folder that nothing is pinned for.
    """
    dependencies = ET.fromstring(ivy_xml).iter("dependency")
    found = [(conf.split("->")[0], d.attrib) for d in dependencies for conf in d.attrib["conf"].split(";")]
    if unknown := {*folders} - {folder for folder, _ in found}:
        raise SystemExit(f"Jars: nothing is pinned for {', '.join(sorted(unknown))} in {CONF / 'ivy.xml'}")
    return [f"{folder}/{d['name']}-{d['rev']}.jar" for folder, d in found if folder in (folders or INSTALLED)]


def describe_ivy(total: int, line: str, fetched: list[str]) -> str | None:
    """Return how far Ivy is; None for a line that says nothing of it. *fetched* collects what has come so far."""
    if found := re.match(r"\[SUCCESSFUL \] \S+?#(\S+?);", line):
        fetched.append(found[1])
        return f"{len(fetched)}/{total} {found[1]}"
    return None


def _retrieve(total: int, folders: Sequence[str], root: Path) -> None:
    fetched: list[str] = []
    run_shown("Jars", _ivy_command(folders, root), lambda line: describe_ivy(total, line, fetched), LOG)


def _ivy_command(folders: Sequence[str], root: Path = JARS) -> list[str]:
    (ivy,) = _spark_jars().glob("ivy-*.jar")
    command = [find_java(), "-jar", str(ivy), "-settings", str(CONF / "ivysettings.xml"), "-ivy", str(CONF / "ivy.xml")]
    # -sync deletes what a former ivy.xml left behind; it looks at the whole pattern, so one call fetches everything.
    pattern = f"{root.relative_to(REPO)}/[conf]/[artifact]-[revision](-[classifier]).[ext]"
    command += ["-confs", *(folders or INSTALLED)]
    return [*command, "-sync", "-types", "jar", "bundle", "-retrieve", pattern]


def _spark_jars() -> Path:
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise SystemExit("Jars: pyspark, which has Ivy, is not installed; run: make install")
    return Path(pyspark.origin).parent / "jars"


if __name__ == "__main__":
    main()
