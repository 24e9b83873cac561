"""The jobs as they are submitted to YARN: by conf/yarn.conf and the archive of `make archive`, with less memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.installation import REPO, Installation, until
from cluster.hadoop import ARCHIVE, SPARK_JARS, Hadoop
from cluster.server_process import ServerProcess, processes_below

_SETTINGS = {
    "spark.archives": f"{ARCHIVE}#environment",
    # On every machine of this cluster, being one: else each submission would bring 400 MB of Spark along.
    "spark.yarn.jars": f"local:{SPARK_JARS}/*",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "512m",
    "spark.driver.memoryOverhead": "768m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.yarn.am.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
EXECUTOR, DRIVER = "YarnCoarseGrainedExecutorBackend", "deploy.yarn.ApplicationMaster "
"""What the Java commands of containers have in them; the second is that of a driver in the cluster."""


def yarn_options(mode: str, executors: int) -> list[str]:
    """Return what spark-submit.sh is given beside the job and its configuration."""
    settings = {**_SETTINGS, "spark.executor.instances": str(executors)}
    words = ["--properties-file", str(REPO / "conf" / "yarn.conf"), "--deploy-mode", mode]
    return [*words, *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}"))]


@dataclass(frozen=True)
class Applications:
    """The jobs of an installation with tables on HDFS, as applications of YARN."""

    hadoop: Hadoop
    installation: Installation

    def newest(self, job: str) -> dict[str, Any]:
        """Return the application of *job* that was submitted last, ``{}`` where there is none."""
        found = self.hadoop.applications(f"offset-sync-{job.replace('_', '-')}")
        return found[-1] if found else {}

    def submit(self, job: str, *options: str) -> str:
        """Submit *job* in cluster mode; return its application's id when YARN runs it."""
        before = self.newest(job).get("id")
        ended = self.installation.run(job, *yarn_options("cluster", 1), *options)
        assert ended.exit_code == 0, ended.output()[-4000:]
        until(lambda: self.newest(job).get("id") not in (None, before), seconds=60)
        return str(self.newest(job)["id"])

    def state(self, job: str) -> str:
        """Return the state of the newest application of *job*."""
        return str(self.newest(job).get("state"))

    def runs(self, job: str) -> bool:
        """Return True while the newest application of *job* may still do something."""
        assert self.state(job) not in ("FAILED", "KILLED", "FINISHED")
        return True

    def attempts(self, identity: str) -> int:
        """Return how often a driver of an application was started."""
        return len(self.hadoop.asked(f"apps/{identity}/appattempts")["appAttempts"]["appAttempt"])

    def containers(self, word: str, identity: str) -> list[tuple[ServerProcess, int]]:
        """Return node and process of an application's containers that have *word* in their command."""
        return [each for each in self.hadoop.containers(word) if job_of(each[1]) == identity]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of one of the tables."""
        return self.hadoop.rows(f"/{self.installation.folder.name}/tables/{table}", self.installation.folder)


def places_on(hadoop: Hadoop, folder: Path) -> dict[str, str]:
    """Return the section ``tables`` of a configuration in *folder*."""
    root = f"{hadoop.file_system}/{folder.name}"
    return {"root": f"{root}/tables", "checkpoints": f"{root}/checkpoints"}


def pythons(hadoop: Hadoop) -> set[tuple[str, bool]]:
    """Return how the Pythons of executors were called, and whether that was in a container's folder."""
    running = [node.process.pid for node in hadoop.nodes if node.process is not None and node.process.poll() is None]
    found = [each for pid in running for each in processes_below(pid) if "pyspark.daemon" in each[1]]
    return {
        (command.split()[0], Path(f"/proc/{number}/cwd").resolve().is_relative_to(hadoop.folder.resolve()))
        for number, command in found
    }


def job_of(number: int) -> str:
    """Return the application that a container's process is of, "" where it has ended."""
    try:
        words = Path(f"/proc/{number}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    container = next((word for word in words if word.startswith("CONTAINER_ID=")), "")
    # CONTAINER_ID=container_1732440000000_0001_01_000002
    return "application_" + "_".join(container.split("_")[2:4])
