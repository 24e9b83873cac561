"""The settings of Hadoop's daemons and of those who talk to them: what a cluster's administrator would write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n%ex
"""
LOCALHOST = "127.0.0.1"
DATANODES = 3
"""With one the client waits a second for each file: the namenode has not heard of its block yet (HDFS)."""
_ANY_PORT = f"{LOCALHOST}:0"


def write_settings(folder: Path, files: Mapping[str, Mapping[str, object]]) -> Path:
    """Write a folder for HADOOP_CONF_DIR, of *files* by name (``core-site``), and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings in files.items():
        lines = [
            f"  <property><name>{escape(key)}</name><value>{escape(str(value))}</value></property>"
            for key, value in settings.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        (folder / f"{name}.xml").write_text(text, encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    return folder


def file_system_settings(
    folder: Path, ports: Mapping[str, int], blocks: Path | None = None
) -> dict[str, dict[str, object]]:
    """Return what the namenode and, with a folder for its *blocks*, a datanode need to know; all is below *folder*."""
    return {
        "core-site": {"fs.defaultFS": f"hdfs://{LOCALHOST}:{ports['namenode']}", "hadoop.tmp.dir": folder / "tmp"},
        "hdfs-site": {
            "dfs.replication": DATANODES,
            "dfs.namenode.http-address": f"{LOCALHOST}:{ports['namenode-web']}",
            "dfs.namenode.name.dir": folder / "names",
            "dfs.namenode.safemode.extension": 0,
            "dfs.datanode.data.dir": blocks or folder / "blocks",
            **{f"dfs.datanode.{name}": _ANY_PORT for name in ("address", "http.address", "ipc.address")},
        },
    }


def kerberos_settings(realm: str, keytab: str) -> dict[str, dict[str, object]]:
    """Return what makes all of HDFS ask for Kerberos: its daemons are ``hdfs``, with their keys in *keytab*."""
    own, web = f"hdfs/{LOCALHOST}@{realm}", f"HTTP/{LOCALHOST}@{realm}"
    return {
        "core-site": {"hadoop.security.authentication": "kerberos"},
        "hdfs-site": {
            **{f"dfs.{each}.kerberos.principal": own for each in ("namenode", "datanode")},
            **{f"dfs.{each}.keytab.file": keytab for each in ("namenode", "datanode")},
            "dfs.web.authentication.kerberos.principal": web,
            "dfs.web.authentication.kerberos.keytab": keytab,
            "dfs.block.access.token.enable": "true",
            "dfs.data.transfer.protection": "privacy",
            "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
            "ignore.secure.ports.for.testing": "true",  # else web pages need certificates
            "dfs.permissions.enabled": "false",
        },
    }


def resource_settings(ports: Mapping[str, int]) -> dict[str, dict[str, object]]:
    """Return the settings of the resource manager and of its clients."""
    addresses = {
        "address": "resourcemanager",
        "scheduler.address": "scheduler",
        "resource-tracker.address": "tracker",
        "admin.address": "admin",
        "webapp.address": "resourcemanager-web",
    }
    return {
        "yarn-site": {
            "yarn.resourcemanager.hostname": LOCALHOST,
            **{f"yarn.resourcemanager.{key}": f"{LOCALHOST}:{ports[name]}" for key, name in addresses.items()},
            "yarn.scheduler.minimum-allocation-mb": 128,
            # A node that is gone is known to be gone within half a minute, not ten minutes. How long a driver may be
            # silent stays as it is: it is silent until it has unpacked its libraries and started Spark.
            "yarn.nm.liveness-monitor.expiry-interval-ms": 20_000,
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 500,
            # Whatever is left alone gives up soon.
            "yarn.resourcemanager.connect.max-wait.ms": 60_000,
        },
        "capacity-scheduler": {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": 100,
            "yarn.scheduler.capacity.maximum-am-resource-percent": 1,
            # Containers are spread over the nodes.
            "yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled": "false",
        },
    }


def node_settings(folder: Path, ports: Mapping[str, int], *, memory_mb: int) -> dict[str, dict[str, object]]:
    """Return what one node manager needs to know; *folder* is its own."""
    common = resource_settings(ports)
    own = {
        "yarn.nodemanager.local-dirs": folder / "local",
        "yarn.nodemanager.log-dirs": folder / "logs",
        **{f"yarn.nodemanager.{name}": _ANY_PORT for name in ("address", "webapp.address", "localizer.address")},
        "yarn.nodemanager.resource.memory-mb": memory_mb,
        "yarn.nodemanager.resource.cpu-vcores": 8,
        "yarn.nodemanager.vmem-check-enabled": "false",
        # A disk that is nearly full is not what is tested.
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # Logs of containers stay where they were written.
        "yarn.nodemanager.delete.debug-delay-sec": 3600,
    }
    return {**common, "yarn-site": {**common["yarn-site"], **own}}
