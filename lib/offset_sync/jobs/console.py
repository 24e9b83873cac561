"""All jobs and commands, as ``offset-sync`` of the wheel and as scripts of spark-submit.sh.

Commands need neither Spark nor a repository. Jobs on Spark get their jars from spark-submit.sh, or, in the wheel, from
a Maven repository (``spark/__init__.py``).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from offset_sync import __version__

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
    INIT: Command("Query the clusters, write a first configuration, and check it."),
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
    told = "\n".join(f"  {name:<15}  {command.says}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="offset-sync",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"commands:\n{told}\n\noffset-sync COMMAND --help shows the options and exit codes of a command.",
    )
    parser.add_argument("--version", action="version", version=f"offset-sync {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS)
    parser.add_argument("options", metavar="--conf FILE [OPTION]…", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    return run_command(given.command, given.options, f"offset-sync {given.command}")


def run_command(name: str, words: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Run a command by *words*, by default those of this process, as program *prog*; return the exit code."""
    if not COMMANDS[name].is_on_spark:
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks through all installed packages
        sys.meta_path.insert(0, without_pandas := _WithoutPandas())
        try:
            code = _run(name, words, prog)
        finally:
            sys.meta_path.remove(without_pandas)
    else:
        from offset_sync.model.errors import ConfigError
        from offset_sync.spark import prepare_spark

        try:
            prepare_spark(name)
        except ConfigError as error:
            print(error, file=sys.stderr)
            sys.exit(error.exit_code)
        code = _run(name, words, prog)
    if name == RUN or COMMANDS[name].is_on_spark:
        from offset_sync.jobs.process_end import end_process

        end_process(code)
    return code


def _run(name: str, words: Sequence[str] | None, prog: str | None) -> int:
    # Imported on demand: each command takes a while to load its dependencies.
    gc.disable()
    from offset_sync.jobs.runner import job_arguments, run_job

    module: Any = importlib.import_module(f"offset_sync.jobs.{name}")
    gc.freeze()  # what is imported stays
    gc.set_threshold(100_000)  # a report makes as many objects, and they stay
    gc.enable()
    if name == INIT:
        code: int = module.init(words, prog)
        return code
    parser = job_arguments(COMMANDS[name].says, has_once=COMMANDS[name].has_once)
    parser.prog = prog or parser.prog
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    return run_job(getattr(module, name), parser, words)


class _WithoutPandas:
    """Hides pandas: no command uses it, and pyarrow works without.

    pyarrow loads pandas where Spark's extra has installed it, to check whether a list is a Series. That takes 0.25 s.
    """

    def find_spec(self, name: str, *_place: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


if __name__ == "__main__":
    sys.exit(main())
