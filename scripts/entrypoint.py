"""What the image runs: ``driver …`` and ``executor`` as Spark calls it on Kubernetes, else a job or any command.

Like the entrypoint of Spark's own image but for one thing: the driver of one of our jobs is a Python process that
starts its JVM (see submit.py), not the other way round. So the SIGTERM with which Kubernetes ends a pod reaches the
job, and the micro-batch in hand is finished. Standard library only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from spark_options import OptionError, split_options
from submit import REPO, Command, build_command

_RUNNER = "org.apache.spark.deploy.PythonRunner"
_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
# Option of the backend and the variable in which the driver tells each executor its value.
_TOLD = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Become the process that *words* name."""
    try:
        command = command_for(REPO, words, os.environ)
    except OptionError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    os.execvpe(command.words[0], command.words, os.environ | command.environment)


def command_for(repo: Path, words: Sequence[str], environ: Mapping[str, str]) -> Command:
    """Return what to run; raise OptionError where something is missing."""
    settings = {"SPARK_CONF_DIR": _settings_folder(repo, environ)}
    if words and words[0] == "driver":
        return _driver(repo, list(words[1:]), environ, settings)
    if words and words[0] == "executor":
        return Command(_executor(environ, settings["SPARK_CONF_DIR"]), settings)
    if words and (repo / "jobs" / f"{words[0]}.py").is_file():
        return Command([str(repo / "spark-submit.sh"), *words], settings)
    return Command(list(words) or [str(repo / "spark-submit.sh"), "--help"], settings)


def _driver(repo: Path, words: list[str], environ: Mapping[str, str], settings: Mapping[str, str]) -> Command:
    address = environ.get("SPARK_DRIVER_BIND_ADDRESS", "")
    spark = ["--conf", f"spark.driver.bindAddress={address}"]
    spark += ["--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}", "--deploy-mode", "client"]
    script = next((word for word in words if word.endswith(".py")), "")
    job = PurePosixPath(script).stem
    is_ours = script == f"local://{repo}/jobs/{job}.py" and (repo / "jobs" / f"{job}.py").is_file()
    if not is_ours:  # a user's own script, or one that was uploaded: as in Spark's image
        return Command([str(Path(environ["SPARK_HOME"], "bin", "spark-submit")), *spark, *words], dict(settings))
    at = words.index(script)
    given = [word for word in words[:at] if word not in ("--class", _RUNNER)]
    built = build_command(repo, job, split_options([*spark, *given, "--", *words[at + 1 :]]), {**environ, **settings})
    return Command(built.words, {**settings, **built.environment})


def _executor(environ: Mapping[str, str], settings_folder: str) -> list[str]:
    if missing := [name for name in (*_TOLD.values(), "SPARK_EXECUTOR_MEMORY") if name not in environ]:
        raise OptionError(f"executor: {', '.join(missing)} not set; Spark's driver starts executors")
    java = str(Path(environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in environ else "java"
    numbered = [(name.removeprefix("SPARK_JAVA_OPT_"), value) for name, value in environ.items()]
    options = sorted((int(number), value) for number, value in numbered if number.isdecimal())
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    places = [environ.get("HADOOP_CONF_DIR"), settings_folder, environ.get("SPARK_CLASSPATH")]
    places += [f"{environ['SPARK_HOME']}/jars/*", environ.get("SPARK_EXTRA_CLASSPATH"), os.getcwd()]
    told = [word for option, name in _TOLD.items() for word in (option, environ[name])]
    class_path = ":".join(place for place in places if place)
    flags = [value for _, value in options]
    return [java, *flags, f"-Xms{memory}", f"-Xmx{memory}", "-cp", class_path, _BACKEND, *told]


def _settings_folder(repo: Path, environ: Mapping[str, str]) -> str:
    """Return the folder of log4j2.properties and spark-env.sh: the one that is mounted if it has any, else ours.

    Kubernetes mounts one with Spark's properties alone where the operator's spark-submit has started the driver.
    """
    mounted = environ.get("SPARK_CONF_DIR", "")
    return mounted if mounted and Path(mounted, "log4j2.properties").is_file() else str(repo / "conf")


if __name__ == "__main__":
    main()
