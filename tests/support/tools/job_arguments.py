"""What the scripts of the jobs make of a command line, without running them."""

from __future__ import annotations

import runpy
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from offset_sync.jobs import init, process_end, runner

REPO = Path(__file__).resolve().parents[3]


def arguments_of(job: str, words: Sequence[str]) -> Namespace:
    """Return what the script of *job* makes of *words*; AssertionError where it refuses them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run_job", lambda _, parser, words=None: parser.parse_args(words))
        patch.setattr(init, "init", lambda words=None, prog=None: init.init_arguments(prog).parse_args(words))
        patch.setattr(process_end, "end_process", sys.exit)
        patch.setattr(sys, "argv", [job, *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(REPO / "jobs" / f"{job}.py"), run_name="__main__")
    assert isinstance(ended.value.code, Namespace), words
    return ended.value.code
