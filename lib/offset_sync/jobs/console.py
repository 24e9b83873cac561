"""All jobs and commands, as ``offset-sync`` of the wheel and as scripts of spark-submit.sh.

Commands need neither Spark nor a repository. Jobs on Spark get their jars from spark-submit.sh, or, in the wheel, from
a Maven repository (``spark/packages.py``).
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from offset_sync import __version__

_BAD_ARGUMENTS = 2
RUN = "run"
INIT = "init"


class Command(NamedTuple):
    """*says* is its description; its module has a function of its name, and maybe ``add_arguments``.

    *is_on_spark*: it needs pyspark, and ends the process.
    """

    says: str
    has_once: bool = False
    is_on_spark: bool = False


COMMANDS = {
    "check": Command("Check connections, rights, headers and brokers' settings before a start; changes nothing."),
    "cutover": Command("Plan, rehearse, apply or verify the move of consumer groups to another cluster."),
    "index_records": Command("Index the mirrored records of every cluster into record_runs.", True, True),
    "maintain_tables": Command("Compact the Delta tables, and remove rows that no answer can need.", True, True),
    "report_status": Command("Report the status of every group between every two clusters.", True),
    RUN: Command("Run index_records, sync_offsets, maintain_tables and report_status, and restart them."),
    "sync_offsets": Command("Keep the consumer offsets of every cluster translated into the others.", True, True),
    "translate": Command("Translate offsets that no group has committed: of savepoints, checkpoints and connectors."),
}
"""By name."""


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
        from offset_sync.jobs.init import init

        return init(rest[:-1], f"offset-sync {name}")
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
        return _run(name, words, prog)
    finally:
        sys.meta_path.remove(without_pandas)


def _run(name: str, words: Sequence[str] | None, prog: str | None) -> int:
    # Imported on demand: each command takes a while to load its dependencies.
    from offset_sync.jobs.runner import job_arguments, run_job

    module, command = importlib.import_module(f"offset_sync.jobs.{name}"), COMMANDS[name]
    parser = job_arguments(command.says, has_once=command.has_once)
    parser.prog = prog or parser.prog
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    return run_job(getattr(module, name), parser, words)


def _run_on_spark(name: str, words: Sequence[str] | None, prog: str | None) -> NoReturn:
    from offset_sync.model.errors import ConfigError
    from offset_sync.spark.packages import prepare_spark

    try:
        prepare_spark(name)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(_BAD_ARGUMENTS)
    from offset_sync.jobs.process_end import end_process

    end_process(_run(name, words, prog))


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Hides pandas: no command uses it, and pyarrow works without.

    pyarrow loads pandas where Spark's extra has installed it, to check whether a list is a Series. That takes 0.25 s.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _usage() -> str:
    says = {INIT: "Query the clusters, write a first configuration, and check it."}
    says |= {name: command.says for name, command in COMMANDS.items()}
    width = max(map(len, says))
    usage = "usage: offset-sync COMMAND --conf FILE [OPTION]…\n\n"
    usage += "offset-sync COMMAND --help shows the options and exit codes of a command.\n\ncommands:\n"
    return usage + "\n".join(f"  {name:<{width}}  {each}" for name, each in says.items())


if __name__ == "__main__":
    sys.exit(main())
