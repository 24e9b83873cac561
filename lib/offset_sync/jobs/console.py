"""All jobs and commands, as ``offset-sync`` of the wheel and as scripts of spark-submit.sh.

Commands need neither Spark nor a repository. Jobs on Spark get their jars from spark-submit.sh, or, in the wheel, from
a Maven repository (``spark/packages.py``).
"""

from __future__ import annotations

import argparse
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from offset_sync import __version__

if TYPE_CHECKING:
    from offset_sync.jobs.runner import JobFunction

_BAD_ARGUMENTS = 2
RUN = "run"
INIT = "init"


class Command(NamedTuple):
    """*says* is its description; *load* adds its arguments to a parser and returns its function.

    *is_on_spark*: it needs pyspark, and ends the process.
    """

    says: str
    load: Callable[[argparse.ArgumentParser], JobFunction]
    has_once: bool = False
    is_on_spark: bool = False


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
        print(f"{name}: unknown command\n\n{_usage()}" if name else _usage(), file=sys.stderr)
        return _BAD_ARGUMENTS
    code = run_command(name, rest[:-1], f"offset-sync {name}")
    if name == RUN:
        from offset_sync.jobs.process_end import end_process

        end_process(code)
    return code


def run_command(name: str, words: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run a command by *words*, by default those of this process, as program *prog*; return the exit code."""
    if COMMANDS[name].is_on_spark:
        return _run_on_spark(name, words, prog)
    without_pandas = _WithoutPandas()
    sys.meta_path.insert(0, without_pandas)
    try:
        return _run(COMMANDS[name], words, prog)
    finally:
        sys.meta_path.remove(without_pandas)


def _run(command: Command, words: Sequence[str] | None, prog: str | None) -> int:
    from offset_sync.jobs.runner import job_arguments, run_job

    parser = job_arguments(command.says, has_once=command.has_once)
    parser.prog = prog or parser.prog
    return run_job(command.load(parser), parser, words)


def _run_on_spark(name: str, words: Sequence[str] | None, prog: str | None) -> NoReturn:
    from offset_sync.model.errors import ConfigError
    from offset_sync.spark.packages import prepare_spark

    try:
        prepare_spark(name)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(_BAD_ARGUMENTS)
    from offset_sync.jobs.process_end import end_process

    end_process(_run(COMMANDS[name], words, prog))


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


def _index_records(_: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.index_records import index_records

    return index_records


def _maintain_tables(_: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.maintain_tables import maintain_tables

    return maintain_tables


def _run_all(_: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.run import run

    return run


def _sync_offsets(parser: argparse.ArgumentParser) -> JobFunction:
    from offset_sync.jobs.sync_offsets import sync_offsets

    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--dry-run", action="store_true", help="write the plan with outcome DRY_RUN, touch no cluster")
    kind.add_argument("--no-writes", action="store_true", help="the job itself, with its tables, but touch no cluster")
    return sync_offsets


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
        "Check connections, rights, mirror headers and brokers' settings before a start; changes nothing.", _check
    ),
    "cutover": Command("Plan, rehearse, apply or verify the move of consumer groups to another cluster.", _cutover),
    "index_records": Command(
        "Index the mirrored records of every cluster into record_runs.", _index_records, has_once=True, is_on_spark=True
    ),
    "maintain_tables": Command(
        "Compact the Delta tables, and remove rows that no answer can need.",
        _maintain_tables,
        has_once=True,
        is_on_spark=True,
    ),
    "report_status": Command(
        "Report the status of every group between every two clusters.", _report_status, has_once=True
    ),
    RUN: Command("Run index_records, sync_offsets, maintain_tables and report_status, and restart them.", _run_all),
    "sync_offsets": Command(
        "Keep the consumer offsets of every cluster translated into the others.",
        _sync_offsets,
        has_once=True,
        is_on_spark=True,
    ),
    "translate": Command(
        "Translate offsets that no consumer group has committed: of savepoints, checkpoints and connectors.", _translate
    ),
}
"""By name."""


def _usage() -> str:
    says = {INIT: "Query the clusters, write a first configuration, and check it."}
    says |= {name: command.says for name, command in COMMANDS.items()}
    width = max(map(len, says))
    listed = [f"  {name:<{width}}  {each}" for name, each in says.items()]
    return "\n".join(
        [
            "usage: offset-sync COMMAND --conf FILE [OPTION]…",
            "",
            "offset-sync COMMAND --help shows the options and exit codes of a command.",
            "",
            "commands:",
            *listed,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
