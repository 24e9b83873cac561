"""A repository without anything in it, and what spark-submit.sh would run there."""

from __future__ import annotations

from pathlib import Path

from spark_options import split_options
from submit import Command, build_command


def make_repo(root: Path) -> Path:
    """Make a repository with one job, two jars and nothing else."""
    for name in ("jobs/sync_offsets.py", "jars/spark/a.jar", "jars/spark/b.jar", "lib/offset_sync/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text('"""Sync them."""\n')
    return root


def command(repo: Path, *words: str, **environ: str) -> Command:
    """Return what these words and variables would start."""
    return build_command(repo, "sync_offsets", split_options(words), environ)
