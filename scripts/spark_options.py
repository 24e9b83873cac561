"""Tell the options that Spark understands from those of the job. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

# As in org.apache.spark.launcher.SparkSubmitOptionParser. Left out are those that do something else than start a
# job (--kill, --status, --version, --help, --usage-error) and --class, which a Python job has no use for.
_NAMES = """
    --archives --conf -c --deploy-mode --driver-class-path --driver-cores --driver-java-options --driver-library-path
    --driver-memory --exclude-packages --executor-cores --executor-memory --files --jars --keytab --master --name
    --num-executors --packages --principal --properties-file --proxy-user --py-files --queue --remote --repositories
    --total-executor-cores
"""
_WITH_VALUE = frozenset(_NAMES.split())
_WITHOUT_VALUE = frozenset({"--load-spark-defaults", "--supervise", "--verbose", "-v"})


class OptionError(ValueError):
    """The command line cannot be understood; the message names the option and the remedy."""


@dataclass(frozen=True)
class Options:
    """A command line taken apart; the order within each part is kept.

    *spark* holds (option, value) pairs, the value None for a switch; *config_files* are the ``--conf FILE`` of the job,
    which are in *job* as well.
    """

    spark: tuple[tuple[str, str | None], ...] = ()
    job: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()

    def value(self, option: str) -> str | None:
        """Return the last value given to a Spark *option*, the one that counts; None where it was not given."""
        return next((value for name, value in reversed(self.spark) if name == option), None)

    def settings(self) -> dict[str, str]:
        """Return what ``--conf key=value`` sets."""
        return dict(value.split("=", 1) for name, value in self.spark if name in ("--conf", "-c") and value)

    def without(self, *options: str) -> Options:
        """Return the same command line as if the Spark *options* had not been given."""
        return replace(self, spark=tuple(pair for pair in self.spark if pair[0] not in options))

    def spark_arguments(self) -> list[str]:
        """Return the Spark part as spark-submit takes it."""
        return [word for pair in self.spark for word in pair if word is not None]


def split_options(words: Sequence[str]) -> Options:
    """Take *words*, everything behind the name of the job, apart.

    Spark's options go to Spark, all else to the job, and everything behind ``--`` to the job as it is. ``--conf`` has
    two owners: ``--conf key=value`` is Spark's, ``--conf FILE`` is the configuration of the job. An equals sign behind
    a slash belongs to a path, so ``day=1/x.yaml`` would be a setting and ``./day=1/x.yaml`` is a file.
    """
    options = Options()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return replace(options, job=(*options.job, *words[at + 1 :]))
        name, has_value, value = word.partition("=")
        if word in _WITHOUT_VALUE:
            options = replace(options, spark=(*options.spark, (word, None)))
        elif name in _WITH_VALUE:
            if not has_value:
                at += 1
                if at == len(words):
                    raise OptionError(f"{word}: its value is missing")
                value = words[at]
            options = _with_value(options, name, value)
        else:
            options = replace(options, job=(*options.job, word))
        at += 1
    return options


def is_spark_setting(value: str) -> bool:
    """True for ``key=value``, False for the path of a file.

    >>> [is_spark_setting(v) for v in ("spark.x=a/b", "conf/two-clusters.yaml", "/mnt/env=prod/c.yaml")]
    [True, False, False]
    """
    return re.match(r"[^/=]+=", value) is not None


def _with_value(options: Options, name: str, value: str) -> Options:
    if name in ("--conf", "-c") and not is_spark_setting(value):
        files = (*options.config_files, value)
        return replace(options, job=(*options.job, "--conf", value), config_files=files)
    return replace(options, spark=(*options.spark, (name, value)))
