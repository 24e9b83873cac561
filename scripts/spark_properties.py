"""Read Spark's own configuration files as far as they decide how a job is started. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from spark_options import OptionError

_LINE = re.compile(r"\s*((?:\\.|[^\s=:#!\\])(?:\\.|[^\s=:\\])*)\s*[=:]?\s*(.*?)\s*$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """Return the settings in *path*: key and value, with white space, ``=`` or ``:`` between, one pair a line.

    As Java reads them: a backslash takes the next character as it is, and at the end of a line the next line along.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise OptionError(f"{path}: {problem.strerror}") from problem
    lines = re.sub(r"(?<!\\)((?:\\\\)*)\\\n[ \t]*", r"\1", text).splitlines()
    found = (_LINE.match(line) for line in lines)
    return {_plain(line[1]): _plain(line[2]) for line in found if line}


def _plain(text: str) -> str:
    r"""Return *text* without its escapes.

    >>> _plain(r"k8s\://https\://h\:6443")
    'k8s://https://h:6443'
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]), text)


def own_defaults(environ: Mapping[str, str], ours: Path) -> Path | None:
    """Return the user's own spark-defaults.conf; None where there is none, and the one in the folder *ours* counts."""
    folder = environ.get("SPARK_CONF_DIR") or (environ.get("SPARK_HOME") and f"{environ['SPARK_HOME']}/conf")
    path = Path(folder, "spark-defaults.conf") if folder and Path(folder) != ours else None
    return path if path and path.is_file() else None
