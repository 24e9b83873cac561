"""Start one job on Spark: what spark-submit.sh runs. Standard library only.

In client mode the driver is *not* started by spark-submit but as a plain Python process that starts its own JVM. Under
spark-submit the JVM is the parent: it gets the SIGTERM, stops the Spark context at once and takes the gateway with it.
The Python below it is told nothing, can neither finish its micro-batch nor say how it ended (tried: exit code 143, and
nothing of the job's own clean-up). Turned around, the job gets the signal and decides, its exit code is that of the
command, and everything Spark understands still goes through Spark's own parser, as PYSPARK_SUBMIT_ARGS.
In cluster mode the driver runs elsewhere and spark-submit does it all. On Kubernetes everything but the configuration
is in the image then (Dockerfile), unless spark.kubernetes.file.upload.path says where spark-submit can leave files.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "lib"))

from offset_sync.jobs.console import COMMANDS, RUN
from offset_sync.spark import JAVA_OPTIONS
from spark_options import OptionError, Options, split_options
from spark_properties import own_defaults, read_properties

REPO = Path(__file__).resolve().parent.parent
IN_IMAGE = "/opt/offset-sync"
"""Where the Dockerfile puts this folder."""
_UPLOAD_PATH = "spark.kubernetes.file.upload.path"
_PRINT = "--print-command"
_LISTS = ("--jars", "--py-files", "--files")
_WITHOUT_SPARK = {name for name, command in COMMANDS.items() if not command.is_on_spark}
"""Run by this machine they need no zip: it is for drivers and executors elsewhere."""
_OF_ANOTHER_DRIVER = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_ENV_LOADED")


@dataclass(frozen=True)
class Command:
    """A command and what its environment holds beyond ours."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it as a line a shell can run."""
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join(["env", *assignments, shlex.join(self.words)] if assignments else [shlex.join(self.words)])


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Start the job that *words* name in the place of this process, or print what would be started."""
    only_print = words[:1] == (_PRINT,)
    words = words[1:] if only_print else words
    if not words or words[0] in ("-h", "--help"):
        print(usage(REPO), file=sys.stdout if words else sys.stderr)
        sys.exit(0 if words else 2)
    try:
        inherited = without_other_driver(os.environ, REPO)
        command = build_command(REPO, words[0], split_options(words[1:]), inherited)
    except OptionError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    if only_print:
        print(command)
        return
    if words[0] not in _WITHOUT_SPARK or "PYSPARK_SUBMIT_ARGS" not in command.environment:
        from bundle import build_zip  # here, as it takes a while to load

        build_zip(REPO / "lib", _zip(REPO))
    os.execvpe(command.words[0], command.words, inherited | command.environment)


def without_other_driver(environ: Mapping[str, str], repo: Path) -> dict[str, str]:
    """Return *environ* as it was before a driver was started in it: a job may start another one, as the demo does.

    Else that one would take the other's JVM for its own, and our settings for the user's.
    """
    ours = {*_OF_ANOTHER_DRIVER, *(["SPARK_CONF_DIR"] if _is_ours(environ, repo) else [])}
    return {name: value for name, value in environ.items() if name not in ours}


def _is_ours(environ: Mapping[str, str], repo: Path) -> bool:
    return environ.get("SPARK_CONF_DIR") == str(repo / "conf")


def usage(repo: Path) -> str:
    """Return how to call spark-submit.sh, with the jobs there are."""
    jobs = sorted((repo / "jobs").glob("*.py"))
    width = max((len(job.stem) for job in jobs), default=0)
    listed = [f"  {job.stem:<{width}}  {_first_line(job)}".rstrip() for job in jobs]
    return "\n".join(
        [
            f"usage: ./spark-submit.sh [{_PRINT}] JOB [--conf FILE] [OPTION]… [-- ARGUMENT of the job…]",
            "",
            "Options that spark-submit knows go to Spark, all others to the job: --conf key=value is Spark's,",
            "--conf FILE the configuration of the job. ./spark-submit.sh JOB --help shows the options of a job.",
            f"{_PRINT} prints the command, and runs nothing.",
            "",
            "jobs:",
            *listed,
        ]
    )


def build_command(repo: Path, job: str, options: Options, environ: Mapping[str, str]) -> Command:
    """Return the command that runs *job*; raise OptionError where that cannot work."""
    script = repo / "jobs" / f"{job}.py"
    if not script.is_file():
        raise OptionError(f"{job}: unknown job\n\n{usage(repo)}")
    settings = _settings(repo, options, environ)
    in_cluster = (options.value("--deploy-mode") or settings.get("spark.submit.deployMode", "client")) == "cluster"
    if job == RUN:
        return _run(repo, options, environ, in_cluster=in_cluster)
    master = options.value("--master") or settings.get("spark.master", "local[*]")
    in_image = in_cluster and master.startswith("k8s") and _UPLOAD_PATH not in settings
    name = options.value("--name") or settings.get("spark.app.name", f"offset-sync-{job.replace('_', '-')}")
    spark = [
        *("--master", master),
        *("--name", name),
        *_defaults(repo, master, environ, settings),
        *_java_options(job, options, settings),
        *_one_driver(master, name, settings, in_cluster=in_cluster),
        *([] if in_image else _lists(repo, options, settings, environ, in_cluster=in_cluster)),
        *options.without("--master", "--name", *([] if in_image else _LISTS)).spark_arguments(),
    ]
    environment = {} if environ.keys() & {"SPARK_CONF_DIR", "SPARK_HOME"} else {"SPARK_CONF_DIR": str(repo / "conf")}
    if in_cluster:
        environment |= _spark_home(environ)
    if in_image:
        _check_is_in_pod(options)
        return Command([_spark_submit(environ), *spark, f"local://{IN_IMAGE}/jobs/{job}.py", *options.job], environment)
    if in_cluster:
        return Command([_spark_submit(environ), *spark, str(script), *_names_only(options)], environment)
    python = settings.get("spark.pyspark.driver.python") or environ.get("PYSPARK_DRIVER_PYTHON") or sys.executable
    environment |= {
        "PYSPARK_SUBMIT_ARGS": shlex.join([*spark, "pyspark-shell"]),
        "PYSPARK_DRIVER_PYTHON": python,
        "PYSPARK_PYTHON": settings.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON") or python,
        "PYTHONPATH": os.pathsep.join(_python_path(repo, options, settings, environ)),
        # These two as spark-submit sets them for a driver that it starts.
        "PYTHONHASHSEED": environ.get("PYTHONHASHSEED", "0"),
        "PYTHONUNBUFFERED": "1",
        "OFFSET_SYNC_DRIVER": "1",  # for conf/spark-env.sh
    }
    return Command([python, str(script), *options.job], environment)


def _run(repo: Path, options: Options, environ: Mapping[str, str], *, in_cluster: bool) -> Command:
    """Return the command of the job that starts the others: no driver, but told how drivers are started."""
    if in_cluster:
        raise OptionError("run: starts its jobs on this machine; with --deploy-mode cluster start each by its name")
    submit = [sys.executable, str(repo / "scripts" / "submit.py")]
    environment = {
        "OFFSET_SYNC_SUBMIT": shlex.join(submit),
        "OFFSET_SYNC_SPARK_OPTIONS": shlex.join(options.without("--name").spark_arguments()),
        "PYTHONPATH": os.pathsep.join([str(repo / "lib"), *filter(None, [environ.get("PYTHONPATH")])]),
    }
    return Command([sys.executable, str(repo / "jobs" / f"{RUN}.py"), *options.job], environment)


def _defaults(repo: Path, master: str, environ: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    """Return what counts unless the user says something else: conf/spark-defaults.conf, unless there is an own one."""
    conf = repo / "conf"
    defaults = {} if own_defaults(environ, conf) else read_properties(conf / "spark-defaults.conf")
    if master.startswith("local"):
        defaults["spark.ui.enabled"] = "false"  # two jobs on one machine would quarrel about its port
    return [word for key, value in defaults.items() if key not in settings for word in ("--conf", f"{key}={value}")]


def _java_options(job: str, options: Options, settings: Mapping[str, str]) -> list[str]:
    """Return the JVM options of *job*, for driver and executors; where the user gives some, only these count."""
    own = {*settings, *(["spark.driver.extraJavaOptions"] if options.value("--driver-java-options") else [])}
    keys = [f"spark.{side}.extraJavaOptions" for side in ("driver", "executor")] if job in JAVA_OPTIONS else []
    return [word for key in keys if key not in own for word in ("--conf", f"{key}={JAVA_OPTIONS[job]}")]


def _one_driver(master: str, name: str, settings: Mapping[str, str], *, in_cluster: bool) -> list[str]:
    """Return a fixed name for the driver's pod: Kubernetes refuses a second one of that name, so a second driver."""
    key = "spark.kubernetes.driver.pod.name"
    is_open = in_cluster and master.startswith("k8s") and key not in settings
    return ["--conf", f"{key}={name}-driver"] if is_open else []


def _lists(
    repo: Path, options: Options, settings: Mapping[str, str], environ: Mapping[str, str], *, in_cluster: bool
) -> list[str]:
    """Return the options that add to what the user lists: a Spark option given twice would replace, not add."""
    jars = [str(jar) for jar in sorted((repo / "jars" / "spark").glob("*.jar"))]
    own_jars = _listed(options, settings, "--jars", "spark.jars")
    if not (jars or own_jars or options.value("--packages") or "SPARK_HOME" in environ):
        raise OptionError(f"{repo / 'jars' / 'spark'}: no jars; run: make install")
    py_files = [str(_zip(repo)), *_listed(options, settings, "--py-files", "spark.submit.pyFiles")]
    files = _listed(options, settings, "--files", "spark.files")
    if in_cluster:
        files += [os.path.abspath(path) for path in options.config_files]
    lists = {"--jars": jars + own_jars, "--py-files": py_files, "--files": files}
    return [word for option, items in lists.items() if items for word in (option, ",".join(items))]


def _listed(options: Options, settings: Mapping[str, str], option: str, key: str) -> list[str]:
    return [item for item in (options.value(option) or settings.get(key, "")).split(",") if item]


def _check_is_in_pod(options: Options) -> None:
    for path in options.config_files:
        if not path.startswith("/"):
            raise OptionError(
                f"--conf {path}: on Kubernetes this is a file in the driver's pod; mount it there and give its whole "
                f"path (conf/kubernetes/), or set --conf {_UPLOAD_PATH}=… to a place where spark-submit can upload it"
            )


def _names_only(options: Options) -> list[str]:
    """Return the job's options with each configuration file as the driver will find it: in its working directory."""
    return [Path(word).name if word in options.config_files else word for word in options.job]


def _python_path(repo: Path, options: Options, settings: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    listed = _listed(options, settings, "--py-files", "spark.submit.pyFiles")
    own = [str(Path(item).parent) if item.endswith(".py") else item for item in listed]
    # The folder, not the zip: a zip that is rebuilt under a running driver would break its later imports.
    return [str(repo / "lib"), *own, *filter(None, [environ.get("PYTHONPATH")])]


def _settings(repo: Path, options: Options, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the user, by rising precedence: own spark-defaults.conf, --properties-file, --conf."""
    named = options.value("--properties-file")
    files = [own_defaults(environ, repo / "conf"), Path(named) if named else None]
    read = (read_properties(path) for path in files if path)
    return {key: value for settings in (*read, options.settings()) for key, value in settings.items()}


def _spark_submit(environ: Mapping[str, str]) -> str:
    home = environ.get("SPARK_HOME")
    return str(Path(home, "bin", "spark-submit") if home else Path(sys.executable).with_name("spark-submit"))


def _spark_home(environ: Mapping[str, str]) -> dict[str, str]:
    """Return where Spark is: spark-submit would ask the machine's own Python, which has no PySpark.

    Not by PYSPARK_DRIVER_PYTHON, which YARN would give to the driver in the cluster.
    """
    spec = importlib.util.find_spec("pyspark")
    if environ.keys() & {"SPARK_HOME"} or spec is None or spec.origin is None:
        return {}
    return {"SPARK_HOME": str(Path(spec.origin).parent)}


def _zip(repo: Path) -> Path:
    return repo / "dist" / "offset_sync.zip"


def _first_line(script: Path) -> str:
    import ast

    return (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
