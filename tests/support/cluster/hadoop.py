"""Hadoop on this machine: a namenode, three datanodes, a resource manager and node managers, each a process of its own.

They are Hadoop's own daemons, from the jar of its mini cluster, which has all of them. That one would run them as
threads of one JVM, and a node could not be killed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake
import pyspark

from cluster.hadoop_files import (
    DATANODES,
    LOCALHOST,
    file_system_settings,
    node_settings,
    resource_settings,
    write_settings,
)
from cluster.server_process import ServerProcess, answer_of, processes_below
from offset_sync_demo.kafka.broker_files import free_ports

REPO = Path(__file__).resolve().parents[3]
JARS = REPO / "jars" / "cluster" / "hadoop"
ARCHIVE = REPO / "dist" / "environment.tar.gz"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
# What the daemons need beside their own jar comes with Spark, in the same version of Hadoop.
_FROM_SPARK = ("hadoop-client-*", "slf4j-api-*", "jcl-over-slf4j-*", "log4j-*", "snappy-java-*", "jsr305-*")
_PORTS = (*("namenode", "namenode-web"), *("resourcemanager", "scheduler", "tracker", "admin", "resourcemanager-web"))
_HDFS, _YARN = "org.apache.hadoop.hdfs.server", "org.apache.hadoop.yarn.server"


@dataclass
class Hadoop:
    """HDFS, and YARN once nodes are started."""

    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True)))
    security: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """More settings, by file."""
    nodes: list[ServerProcess] = field(default_factory=list)
    _servers: list[ServerProcess] = field(default_factory=list)

    @property
    def file_system(self) -> str:
        """Return the address of HDFS, for paths."""
        return f"hdfs://{LOCALHOST}:{self.ports['namenode']}"

    @property
    def settings(self) -> Path:
        """Return the folder for HADOOP_CONF_DIR."""
        return self.folder / "conf"

    def start_file_system(self) -> None:
        """Start HDFS, empty; return when it takes files."""
        write_settings(self.settings, self._files() | resource_settings(self.ports))
        self._server("format", f"{_HDFS}.namenode.NameNode", "-format", "-nonInteractive").run()
        namenode = self._launched("namenode", f"{_HDFS}.namenode.NameNode")
        for number in range(DATANODES):
            own = self.folder / f"datanode{number}"
            write_settings(own / "conf", self._files(own / "blocks"))
            self._launched(f"datanode{number}", f"{_HDFS}.datanode.DataNode", settings=own / "conf")
        namenode.wait_until(self._takes_files)

    def start_nodes(self, memory_mb: list[int]) -> None:
        """Start YARN with one node for each of *memory_mb*; return when it takes applications."""
        manager = self._launched("resourcemanager", f"{_YARN}.resourcemanager.ResourceManager")
        for number, memory in enumerate(memory_mb, start=1):
            own = self.folder / f"node{number}"
            shutil.copytree(self.settings, own / "conf")
            write_settings(own / "conf", node_settings(own, self.ports, memory_mb=memory))
            node = self._server(f"node{number}", f"{_YARN}.nodemanager.NodeManager", settings=own / "conf")
            node.launch()
            self.nodes.append(node)
        manager.wait_until(lambda: self.asked("metrics").get("clusterMetrics", {}).get("activeNodes") == len(memory_mb))

    def asked(self, what: str) -> dict[str, Any]:
        """Return what the resource manager answers, ``{}`` where it does not."""
        answer = answer_of(f"http://{LOCALHOST}:{self.ports['resourcemanager-web']}/ws/v1/cluster/{what}")
        return dict(json.loads(answer)) if answer else {}

    def applications(self, name: str) -> list[dict[str, Any]]:
        """Return the applications of that name, the oldest first."""
        found = (self.asked("apps").get("apps") or {}).get("app") or []
        return sorted((each for each in found if each["name"] == name), key=lambda each: str(each["id"]))

    def containers(self, word: str) -> list[tuple[ServerProcess, int]]:
        """Return node and process of every running container of whose Java command *word* is a part."""
        return [
            (node, number)
            for node in self.nodes
            if node.process is not None and node.process.poll() is None
            for number, command in processes_below(node.process.pid)
            if word in command and "/bin/java" in command.split()[0]
        ]

    def download(self, path: str, folder: Path) -> Path:
        """Copy a folder of HDFS to this machine, and return its path."""
        target = folder / path.strip("/").rpartition("/")[2]
        target.mkdir(parents=True, exist_ok=True)
        for each in self.listed(path):  # the log first: an entry written later refers to a file that exists
            if each["type"] == "DIRECTORY":
                self.download(f"{path}/{each['pathSuffix']}", target)
        for each in self.listed(path):
            is_file = each["type"] == "FILE"
            if is_file and (content := answer_of(self._web(f"{path}/{each['pathSuffix']}", "OPEN"))) is not None:
                (target / each["pathSuffix"]).write_bytes(content)
        return target

    def rows(self, path: str, folder: Path) -> list[dict[str, Any]]:
        """Return the rows of the Delta table at *path*, none where it is not there yet; it is copied to *folder*."""
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            table = self.download(path, Path(scratch))
            if not any((table / "_delta_log").glob("*.json")):
                return []
            rows: list[dict[str, Any]] = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
        return rows

    def listed(self, path: str) -> list[dict[str, Any]]:
        """Return the files of a folder of HDFS, none if it does not exist."""
        answer = answer_of(self._web(path, "LISTSTATUS"))
        return list(json.loads(answer)["FileStatuses"]["FileStatus"]) if answer else []

    def kill(self) -> None:
        """End everything, with what the nodes have started."""
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.kill_with_all_below()
        for server in reversed(self._servers):
            server.kill()

    def _files(self, blocks: Path | None = None) -> dict[str, dict[str, object]]:
        settings = file_system_settings(self.folder, self.ports, blocks)
        return {name: {**each, **self.security.get(name, {})} for name, each in settings.items()}

    def _web(self, path: str, operation: str) -> str:
        return f"http://{LOCALHOST}:{self.ports['namenode-web']}/webhdfs/v1{path}?op={operation}"

    def _takes_files(self) -> bool:
        state = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        answer = answer_of(f"http://{LOCALHOST}:{self.ports['namenode-web']}/{state}") or b'{"beans": []}'
        beans = json.loads(answer)["beans"]
        return any(each.get("NumLiveDataNodes") == DATANODES and each.get("FSState") == "Operational" for each in beans)

    def _launched(self, name: str, *arguments: str, settings: Path | None = None) -> ServerProcess:
        server = self._server(name, *arguments, settings=settings)
        server.launch()
        self._servers.append(server)
        return server

    def _server(self, name: str, *arguments: str, settings: Path | None = None) -> ServerProcess:
        jars = [
            *sorted(JARS.glob("*.jar")),
            *(jar for each in _FROM_SPARK for jar in sorted(SPARK_JARS.glob(f"{each}.jar"))),
        ]
        classes = os.pathsep.join(map(str, [settings or self.settings, *jars]))
        return ServerProcess(name, self.folder / "daemons" / name, classes, arguments)


@contextmanager
def running_hadoop(folder: Path, security: Mapping[str, Mapping[str, object]] | None = None) -> Iterator[Hadoop]:
    """Start HDFS below *folder*; whatever runs at the end, nodes too, is killed."""
    hadoop = Hadoop(folder, security=security or {})
    try:
        hadoop.start_file_system()
        yield hadoop
    finally:
        hadoop.kill()
