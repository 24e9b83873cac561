"""Which JVM options a job gets from spark-submit.sh, and that the user's own win."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from spark_options import split_options
from submit import build_command

PARALLEL = "-XX:+UseParallelGC"
DRIVER, EXECUTOR = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"


def java_options(root: Path, job: str, *words: str) -> list[str]:
    """Return every setting of JVM options that Spark's parser is given, in order."""
    for name in (f"jobs/{job}.py", "jars/spark/a.jar"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    built = build_command(root, job, split_options(words), {})
    given = shlex.split(built.environment.get("PYSPARK_SUBMIT_ARGS", "")) or built.words
    return [word for word in given if "ava" in word and "ptions" in word]


@pytest.mark.parametrize("words", [(), ("--master", "yarn", "--deploy-mode", "cluster")])
def test_the_index_collects_garbage_in_parallel_in_driver_and_executors(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert java_options(tmp_path, "index_records", *words) == [f"{DRIVER}={PARALLEL}", f"{EXECUTOR}={PARALLEL}"]


def test_jobs_that_have_to_answer_quickly_keep_the_collector_of_java(tmp_path: Path) -> None:
    assert java_options(tmp_path, "sync_offsets") == []


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("--conf", f"{DRIVER}=-Dx"), [f"{EXECUTOR}={PARALLEL}", f"{DRIVER}=-Dx"]),
        (("--conf", f"{EXECUTOR}=-Dx"), [f"{DRIVER}={PARALLEL}", f"{EXECUTOR}=-Dx"]),
        (("--driver-java-options", "-Dx"), [f"{EXECUTOR}={PARALLEL}", "--driver-java-options"]),
    ],
)
def test_options_of_the_user_are_left_alone(tmp_path: Path, words: tuple[str, ...], given: list[str]) -> None:
    assert java_options(tmp_path, "index_records", *words) == given
