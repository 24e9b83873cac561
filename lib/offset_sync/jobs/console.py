"""The command ``offset-sync`` of the wheel: what a person asks from anywhere, without Spark and without a repository.

The jobs that go on for ever are started by spark-submit.sh, which brings their jars.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from offset_sync import __version__

_BAD_ARGUMENTS = 2
_Command = Callable[[Sequence[str]], int]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that *words* name, by default those of this process; return the exit code."""
    name, *rest = [*(sys.argv[1:] if words is None else words), ""]
    if name == "--version":
        print(f"offset-sync {__version__}")
        return 0
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name not in COMMANDS:
        print(f"{name}: there is no such command\n\n{_usage()}" if name else _usage(), file=sys.stderr)
        return _BAD_ARGUMENTS
    return COMMANDS[name][1](rest[:-1])


# Imported when it is asked for: each takes a while to load what it needs.
def _check(words: Sequence[str]) -> int:
    from offset_sync.jobs.check import check, check_arguments
    from offset_sync.jobs.runner import job_arguments, run_job

    parser = check_arguments(job_arguments(COMMANDS["check"][0], has_once=False))
    parser.prog = "offset-sync check"
    return run_job(check, parser, words)


def _cutover(words: Sequence[str]) -> int:
    from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
    from offset_sync.jobs.runner import job_arguments, run_job

    parser = cutover_arguments(job_arguments(COMMANDS["cutover"][0], has_once=False))
    parser.prog = "offset-sync cutover"
    return run_job(cutover_groups, parser, words)


def _report_status(words: Sequence[str]) -> int:
    from offset_sync.jobs.report_status import report_status
    from offset_sync.jobs.runner import job_arguments, run_job
    from offset_sync.status.render.outputs import status_arguments

    parser = status_arguments(job_arguments(COMMANDS["report_status"][0]))
    parser.prog = "offset-sync report_status"
    return run_job(report_status, parser, words)


def _translate(words: Sequence[str]) -> int:
    from offset_sync.jobs.runner import job_arguments, run_job
    from offset_sync.jobs.translate import translate, translate_arguments

    parser = translate_arguments(job_arguments(COMMANDS["translate"][0], has_once=False))
    parser.prog = "offset-sync translate"
    return run_job(translate, parser, words)


COMMANDS: dict[str, tuple[str, _Command]] = {
    "check": (
        "Prove connection, rights, mirror headers and brokers' settings before a start; changes nothing.",
        _check,
    ),
    "cutover": ("Plan, make or verify the move of consumer groups to another cluster.", _cutover),
    "report_status": ("Report how every group stands between every two clusters.", _report_status),
    "translate": (
        "Translate offsets that no consumer group has committed: of savepoints, checkpoints and connectors.",
        _translate,
    ),
}
"""By name, what it is for and what runs it."""


def _usage() -> str:
    width = max(map(len, COMMANDS))
    listed = [f"  {name:<{width}}  {says}" for name, (says, _) in COMMANDS.items()]
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
