"""spark-submit.sh as text: who gets which option, and what would be run on a laptop, on YARN and on Kubernetes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from builders.submit_commands import after, command, make_repo, spark_words
from spark_options import OptionError, split_options
from spark_properties import read_properties
from submit import build_command, without_other_driver

REPO = Path(__file__).resolve().parents[3]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository in a folder whose name has a blank."""
    return make_repo(tmp_path / "a repo")


@pytest.mark.parametrize(
    ("words", "spark", "job"),
    [
        ("--once --dry-run", "", "--once --dry-run"),
        ("--format json --once", "", "--format json --once"),
        ("--master yarn --once", "--master yarn", "--once"),
        ("--master=k8s://https://h:1 --once", "--master k8s://https://h:1", "--once"),
        ("--num-executors 4 --supervise --verbose x", "--num-executors 4 --supervise --verbose", "x"),
        ("--conf spark.a=b --conf conf/two.yaml", "--conf spark.a=b", "--conf conf/two.yaml"),
        ("--conf=spark.a=b=c --conf=two.yaml", "--conf spark.a=b=c", "--conf two.yaml"),
        ("--conf /mnt/env=prod/two.yaml", "", "--conf /mnt/env=prod/two.yaml"),
        ("-c spark.a=b", "-c spark.a=b", ""),
        ("--once -- --master yarn --conf spark.a=b", "", "--once --master yarn --conf spark.a=b"),
        ("--format=a=b", "", "--format=a=b"),
    ],
)
def test_spark_gets_what_it_understands_and_the_job_the_rest(words: str, spark: str, job: str) -> None:
    options = split_options(words.split())
    assert options.spark_arguments() == spark.split()
    assert list(options.job) == job.split()


def test_an_option_without_its_value_is_refused_with_its_name() -> None:
    with pytest.raises(OptionError, match="--master: its value is missing"):
        split_options(["--once", "--master"])


def test_the_driver_is_a_python_process_that_gets_the_signal_itself(repo: Path) -> None:
    built = command(repo, "--conf", "two.yaml", "--once")
    assert built.words == [sys.executable, str(repo / "jobs" / "sync_offsets.py"), "--conf", "two.yaml", "--once"]
    assert spark_words(built)[-1] == "pyspark-shell"


def test_run_is_no_driver_and_gets_what_starts_drivers(repo: Path) -> None:
    (repo / "jobs" / "run.py").write_text("")
    words = ["--conf", "my file.yaml", "--master", "local[2]", "--name", "x", "--conf", "spark.a=b c"]
    built = build_command(repo, "run", split_options(words), {"PYTHONPATH": "/own"})
    assert built.words == [sys.executable, str(repo / "jobs" / "run.py"), "--conf", "my file.yaml"]
    assert shlex.split(built.environment["OFFSET_SYNC_SUBMIT"]) == [
        sys.executable,
        str(repo / "scripts" / "submit.py"),
    ]
    options = shlex.split(built.environment["OFFSET_SYNC_SPARK_OPTIONS"])
    assert options == ["--master", "local[2]", "--conf", "spark.a=b c"], "each driver has a name of its own"
    assert built.environment["PYTHONPATH"] == f"{repo / 'lib'}:/own"
    with pytest.raises(OptionError, match="start each by its name"):
        build_command(repo, "run", split_options([*words, "--deploy-mode", "cluster"]), {})


def test_without_a_master_the_job_runs_on_this_machine_without_a_web_page(repo: Path) -> None:
    words = spark_words(command(repo))
    assert after(words, "--master") == ["local[*]"]
    assert after(words, "--conf") == ["spark.ui.enabled=false"]
    assert after(words, "--name") == ["offset-sync-sync-offsets"]


def test_what_the_user_sets_wins_over_every_default(repo: Path) -> None:
    words = spark_words(command(repo, "--conf", "spark.ui.enabled=true", "--master", "local[1]", "--name", "mine"))
    assert after(words, "--conf") == ["spark.ui.enabled=true"]
    assert after(words, "--master") == ["local[1]"]
    assert after(words, "--name") == ["mine"]


def test_a_master_from_the_configuration_counts_as_given(repo: Path, tmp_path: Path) -> None:
    assert after(spark_words(command(repo, "--conf", "spark.master=yarn")), "--master") == ["yarn"]
    own = tmp_path / "own"
    own.mkdir()
    (own / "spark-defaults.conf").write_text("# ours\nspark.master   k8s://https://h:6443\n")
    built = command(repo, SPARK_CONF_DIR=str(own))
    assert after(spark_words(built), "--master") == ["k8s://https://h:6443"]
    assert "SPARK_CONF_DIR" not in built.environment


def test_a_job_that_another_one_starts_begins_as_that_one_did(repo: Path) -> None:
    first = command(repo)
    second = command(repo, **without_other_driver(first.environment | {"HOME": "/home/me"}, repo))
    assert (second.words, spark_words(second)) == (first.words, spark_words(first))
    assert second.environment["SPARK_CONF_DIR"] == first.environment["SPARK_CONF_DIR"] == str(repo / "conf")
    own = {"SPARK_CONF_DIR": "/etc/spark", "PYSPARK_GATEWAY_PORT": "1"}
    assert without_other_driver(own, repo) == {"SPARK_CONF_DIR": "/etc/spark"}


def test_a_properties_file_is_read_and_does_not_switch_our_defaults_off(repo: Path, tmp_path: Path) -> None:
    properties = tmp_path / "own.conf"
    properties.write_text("spark.master=yarn\n")
    words = spark_words(command(repo, "--properties-file", str(properties)))
    assert after(words, "--master") == ["yarn"]
    assert "--load-spark-defaults" in words
    with pytest.raises(OptionError, match=r"absent\.conf"):
        command(repo, "--properties-file", str(tmp_path / "absent.conf"))


def test_properties_are_split_as_spark_splits_them(tmp_path: Path) -> None:
    path = tmp_path / "x.conf"
    path.write_text("# no\n! no\n\nspark.a  b c \nspark.b=c=d\nspark.c: e\n spark.d\n")
    assert read_properties(path) == {"spark.a": "b c", "spark.b": "c=d", "spark.c": "e", "spark.d": ""}
    # As Java's Properties.store writes them, in the file that Kubernetes mounts for a driver.
    path.write_text("spark.master=k8s\\://https\\://h\\:6443\nspark.e\\:f=a\\=b\\\\c\\u00fc\nspark.g=h,\\\n  i\n")
    assert read_properties(path) == {"spark.master": "k8s://https://h:6443", "spark.e:f": "a=b\\cü", "spark.g": "h,i"}


def test_jars_and_python_files_of_the_user_are_added_to_ours(repo: Path) -> None:
    built = command(repo, "--jars", "x.jar", "--py-files", "y.zip,z/z.py", PYTHONPATH="/p")
    words = spark_words(built)
    ours = [str(repo / "jars" / "spark" / name) for name in ("a.jar", "b.jar")]
    assert after(words, "--jars") == [",".join([*ours, "x.jar"])]
    assert after(words, "--py-files") == [f"{repo / 'dist' / 'offset_sync.zip'},y.zip,z/z.py"]
    assert built.environment["PYTHONPATH"].split(os.pathsep) == [str(repo / "lib"), "y.zip", "z", "/p"]


def test_missing_jars_are_refused_unless_spark_brings_them(repo: Path) -> None:
    for jar in (repo / "jars" / "spark").iterdir():
        jar.unlink()
    with pytest.raises(OptionError, match="no jars; run: make install"):
        command(repo)
    assert "--jars" not in spark_words(command(repo, SPARK_HOME="/opt/spark"))


def test_python_of_the_user_is_left_as_it_is(repo: Path) -> None:
    built = command(repo, "--master", "yarn", PYSPARK_PYTHON="./environment/bin/python")
    assert built.environment["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert built.environment["PYSPARK_DRIVER_PYTHON"] == built.words[0] == sys.executable
    built = command(repo, "--conf", "spark.pyspark.python=/w/python")
    assert built.environment["PYSPARK_PYTHON"] == "/w/python"


def test_yarn_in_client_mode_reads_as_it_should(repo: Path) -> None:
    words = "--master yarn --num-executors 4 --queue sync --conf spark.yarn.maxAppAttempts=1 --conf two.yaml --once"
    built = command(repo, *words.split())
    assert built.words[1:] == [str(repo / "jobs" / "sync_offsets.py"), "--conf", "two.yaml", "--once"]
    given = spark_words(built)
    assert given[:2] == ["--master", "yarn"]
    assert given[-7:] == [
        "--num-executors",
        "4",
        "--queue",
        "sync",
        "--conf",
        "spark.yarn.maxAppAttempts=1",
        "pyspark-shell",
    ]
    assert "spark.ui.enabled=false" not in given


@pytest.mark.parametrize(
    "words",
    [["--master", "yarn"], ["--master", "k8s://https://h:6443", "--conf", "spark.kubernetes.file.upload.path=s3a://x"]],
)
def test_in_cluster_mode_spark_submit_takes_the_configuration_along(repo: Path, words: list[str]) -> None:
    built = command(repo, *words, "--deploy-mode", "cluster", "--conf", "conf/two.yaml", "--files", "k.jks")
    assert Path(built.words[0]).name == "spark-submit"
    assert after(built.words, "--master") == [words[1]]
    assert after(built.words, "--files") == [f"k.jks,{os.path.abspath('conf/two.yaml')}"]
    # The driver finds the file in its working directory, and a Python of this machine means nothing over there.
    assert built.words[-3:] == [str(repo / "jobs" / "sync_offsets.py"), "--conf", "two.yaml"]
    assert not built.environment.keys() & {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}


def test_an_installed_spark_is_used_in_cluster_mode_with_its_own_settings(repo: Path) -> None:
    built = command(repo, "--master=yarn", "--conf", "spark.submit.deployMode=cluster", SPARK_HOME="/opt/spark")
    assert built.words[0] == "/opt/spark/bin/spark-submit"
    assert "SPARK_CONF_DIR" not in built.environment


def test_the_command_as_text_can_be_given_to_a_shell(repo: Path) -> None:
    built = command(repo, "--conf", "spark.x=a b", "--once")
    words = shlex.split(str(built))
    assert words[0] == "env"
    assert words[-len(built.words) :] == built.words
    assert f"PYSPARK_SUBMIT_ARGS={built.environment['PYSPARK_SUBMIT_ARGS']}" in words


def run_script(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": "/opt/spark",
    } | environ
    return subprocess.run(
        [str(REPO / "spark-submit.sh"), *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )


@pytest.mark.parametrize("words", [(), ("no_such_job",)])
def test_without_a_job_that_exists_the_jobs_are_listed_with_exit_code_2(words: tuple[str, ...]) -> None:
    ended = run_script(*words)
    assert ended.returncode == 2
    assert ended.stdout == ""
    for job in (REPO / "jobs").glob("*.py"):
        assert f"\n  {job.stem} " in ended.stderr


def test_the_script_works_from_any_folder_and_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "submit"
    link.symlink_to(REPO / "spark-submit.sh")
    monkeypatch.chdir(tmp_path)
    job = next((REPO / "jobs").glob("*.py")).stem
    environment = {"PATH": os.environ["PATH"], "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_HOME": "/opt/spark"}
    said = subprocess.run(
        [str(link), "--print-command", job], capture_output=True, text=True, check=True, env=environment
    )
    assert said.stdout.endswith(f"{REPO / 'jobs' / job}.py\n")


def test_a_missing_python_is_named_with_its_remedy() -> None:
    ended = run_script("sync_offsets", PYSPARK_DRIVER_PYTHON="/absent/python")
    assert ended.returncode == 2
    assert "/absent/python: not there; run 'make install'" in ended.stderr


def test_only_a_python_driver_makes_its_jvm_deaf_to_sigterm() -> None:
    def ends_by(variable: str) -> int:
        text = f"{variable}; source {shlex.quote(str(REPO / 'conf' / 'spark-env.sh'))}; kill -TERM $$; exit 7"
        return subprocess.run(["bash", "-c", text], check=False).returncode

    assert ends_by("OFFSET_SYNC_DRIVER=1") == 7
    assert ends_by("unset OFFSET_SYNC_DRIVER") == -15
