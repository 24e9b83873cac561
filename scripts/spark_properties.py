"""Read Spark's own configuration files as far as they decide how a job is started. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from spark_options import OptionError

_LINE = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:]?\s*(.*?)\s*$")


def read_properties(path: Path) -> dict[str, str]:
    """Return the settings in *path*: key and value, with white space, ``=`` or ``:`` between, one pair a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise OptionError(f"{path}: {problem.strerror}") from problem
    found = (_LINE.match(line) for line in lines)
    return {line[1]: line[2] for line in found if line}


def own_defaults(environ: Mapping[str, str]) -> Path | None:
    """Return the user's own spark-defaults.conf; None where there is none, and the one in conf/ counts."""
    folder = environ.get("SPARK_CONF_DIR") or (environ.get("SPARK_HOME") and f"{environ['SPARK_HOME']}/conf")
    path = Path(folder, "spark-defaults.conf") if folder else None
    return path if path and path.is_file() else None
