"""The operator's commands, as ``offset-sync`` of the wheel and as scripts of spark-submit.

The wheel needs neither Spark nor a repository; endless jobs are started by spark-submit.sh, which has their jars.
"""

from __future__ import annotations

import argparse
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from offset_sync import __version__

if TYPE_CHECKING:
    from offset_sync.jobs.runner import JobFunction

_BAD_ARGUMENTS = 2
INIT = "init"


class Command(NamedTuple):
    """*says* is its description; *load* adds its arguments to a parser and returns its function."""

    says: str
    load: Callable[[argparse.ArgumentParser], JobFunction]
    has_once: bool = False


def main(words: Sequence[str] | None = None) -> int:
    """Run the command given by *words*, by default those of this process; return the exit code."""
    name, *rest = [*(sys.argv[1:] if words is None else words), ""]
    if name == "--version":
        print(f"offset-sync {__version__}")
        return 0
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name == INIT:
        return init_command(rest[:-1], f"offset-sync {name}")
    if name not in COMMANDS:
        print(f"{name}: there is no such command\n\n{_usage()}" if name else _usage(), file=sys.stderr)
        return _BAD_ARGUMENTS
    return run_command(name, rest[:-1], f"offset-sync {name}")


def run_command(name: str, words: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run a command by *words*, by default those of this process, as program *prog*; return the exit code."""
    without_pandas = _WithoutPandas()
    sys.meta_path.insert(0, without_pandas)
    try:
        from offset_sync.jobs.runner import job_arguments, run_job

        command = COMMANDS[name]
        parser = job_arguments(command.says, has_once=command.has_once)
        parser.prog = prog or parser.prog
        return run_job(command.load(parser), parser, words)
    finally:
        sys.meta_path.remove(without_pandas)


def init_command(words: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run the command that writes the configuration; return the exit code."""
    from offset_sync.jobs.init import init

    return init(words, prog)


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Hides pandas: no command uses it, and pyarrow works without.

    pyarrow loads pandas where Spark's extra has installed it, to check whether a list is a Series. That takes 0.25 s.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


# Imported on demand: each takes a while to load its dependencies.
def _check(parser: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.check import check, check_arguments

    check_arguments(parser)
    return check


def _cutover(parser: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.cutover import cutover_arguments, cutover_groups

    cutover_arguments(parser)
    return cutover_groups


def _report_status(parser: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.report_status import report_status
    from offset_sync.status.outputs import status_arguments

    status_arguments(parser)
    return report_status


def _translate(parser: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.translate import translate, translate_arguments

    translate_arguments(parser)
    return translate


COMMANDS = {
    "check": Command(
        "Prove connection, rights, mirror headers and brokers' settings before a start; changes nothing.", _check
    ),
    "cutover": Command("Plan, make or verify the move of consumer groups to another cluster.", _cutover),
    "report_status": Command(
        "Report how every group stands between every two clusters.", _report_status, has_once=True
    ),
    "translate": Command(
        "Translate offsets that no consumer group has committed: of savepoints, checkpoints and connectors.", _translate
    ),
}
"""By name."""


def _usage() -> str:
    says = {INIT: "Write a first configuration from what the clusters show, and check it."}
    says |= {name: command.says for name, command in COMMANDS.items()}
    width = max(map(len, says))
    listed = [f"  {name:<{width}}  {each}" for name, each in says.items()]
    return "\n".join(
        [
            "usage: offset-sync COMMAND --conf FILE [OPTION]…",
            "",
            "offset-sync COMMAND --help shows what a command takes; its exit codes are there too.",
            "",
            "commands:",
            *listed,
        ]
    )
