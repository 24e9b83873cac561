"""Kerberos everywhere: brokers by GSSAPI, tables and checkpoints on HDFS with Kerberos, a KDC that the test starts.

The tests of this file go through the life of one installation in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from broker.installation import Installation, install
from broker.secured_clusters import running, with_listener
from broker.story import Story, run
from cluster.hadoop import Hadoop, running_hadoop
from cluster.hadoop_files import kerberos_settings
from cluster.kerberos import HOST, PRINCIPAL, REALM, Kdc, client_folder, missing_for_kerberos, running_kdc
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1200)]

GROUP = "by-kerberos"
_BROKER = "localhost"  # Java's clients ask for the name of an address
_LOGIN = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"


@dataclass(frozen=True)
class Scene:
    """Two brokers that take tickets, with the addresses where they do, and the program's keytab."""

    kdc: Kdc
    story: Story
    addresses: dict[str, str]
    keytab: str

    def sections(self, **security: str) -> dict[str, Any]:
        """Return ``clusters`` of a configuration; *security* instead of what is right."""
        login = {"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI", "principal": PRINCIPAL, "keytab": self.keytab}
        return {
            alias: {"kafka": {"bootstrap.servers": address}, "security": login | security}
            for alias, address in self.addresses.items()
        }


@pytest.fixture(scope="module")
def kdc(cluster_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    if missing := missing_for_kerberos():
        pytest.skip(missing)
    with running_kdc(tmp_path_factory.mktemp("kdc")) as started, pytest.MonkeyPatch.context() as patch:
        for name, value in started.environ.items():
            patch.setenv(name, value)
        yield started


@pytest.fixture(scope="module")
def scene(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    keytab = kdc.keytab(f"kafka/{_BROKER}")
    settings = {
        "listener.name.tickets.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.tickets.gssapi.sasl.jaas.config": f'{_LOGIN} keyTab="{keytab}" principal="kafka/{_BROKER}";',
        "sasl.kerberos.service.name": "kafka",
    }
    started: dict[str, EmbeddedCluster] = {}
    addresses: dict[str, str] = {}
    for alias in ("dc1", "dc2"):
        folder = tmp_path_factory.mktemp(alias)
        started[alias], addresses[alias] = with_listener(alias, folder, "TICKETS", "SASL_PLAINTEXT", settings, _BROKER)
    with running(started):
        story = Story(started, GROUP).begin()
        story.write(150)
        story.commit(GROUP, 17)
        yield Scene(kdc, story, addresses, kdc.keytab("offset-sync"))


@pytest.fixture(scope="module")
def hdfs(kdc: Kdc, scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    keytab = kdc.keytab(f"hdfs/{HOST}", f"HTTP/{HOST}")
    with running_hadoop(tmp_path_factory.mktemp("hadoop"), kerberos_settings(REALM, keytab)) as hadoop:
        yield hadoop


@pytest.fixture(scope="module")
def installation(scene: Scene, hdfs: Hadoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("jobs")
    places = {key: f"{hdfs.file_system}/offset-sync/{key}" for key in ("root", "checkpoints")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", str(hdfs.settings))
        yield install(folder, {}, [scene.story.topic], clusters=scene.sections(), tables=places)


@pytest.fixture(scope="module")
def with_client(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let jobs have the Python client with Kerberos."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(client_folder(tmp_path_factory.mktemp("client"))))
        yield


def test_without_the_client_for_it_a_job_says_so_in_one_line(scene: Scene, tmp_path: Path) -> None:
    (ended,) = failed(scene, tmp_path, "sync_offsets")
    assert ended.startswith("clusters.dc1: the installed Python client has no Kerberos (GSSAPI)")
    assert "scripts/kerberos_client.py" in ended


@pytest.mark.usefixtures("with_client")
def test_check_finds_brokers_and_tables_behind_kerberos(scene: Scene, installation: Installation) -> None:
    (said,) = [line for line in run(installation, "check", "--json").output().splitlines() if line.startswith("{")]
    findings = json.loads(said)["findings"]
    reached = [each for each in findings if each["check"] in ("connection", "root", "checkpoints")]
    assert [each["level"] for each in reached] == ["OK"] * 4, reached


@pytest.mark.usefixtures("with_client")
def test_both_jobs_and_reports_log_in_by_one_keytab(scene: Scene, installation: Installation) -> None:
    for_spark = ["--principal", PRINCIPAL, "--keytab", scene.keytab]
    run(installation, "index_records", "--once", *for_spark)
    run(installation, "sync_offsets", "--once", *for_spark)
    scene.story.arrives(GROUP, 17)
    run(installation, "sync_offsets", "--once", *for_spark)  # reads back what the run before has written
    report = run(installation, "report_status", "--once", "--format", "json").output()
    (line,) = [each for each in report.splitlines() if each.startswith("{") and '"groups"' in each]
    assert {each["status"] for each in json.loads(line)["groups"] if each["group_id"] == GROUP} == {"InSync"}


@pytest.mark.usefixtures("with_client")
def test_a_login_that_fails_is_said_in_one_line(scene: Scene, tmp_path: Path) -> None:
    lines = failed(scene, tmp_path / "other", "sync_offsets", principal=f"other@{REALM}")
    assert {"Could not login" in line for line in lines if line.startswith("clusters.")} == {True}
    login = {"principal": f"gone@{REALM}", "keytab": scene.kdc.keytab("gone")}
    scene.kdc.delete("gone")
    lines = failed(scene, tmp_path / "gone", "index_records", **login)
    reason = f"Client 'gone@{REALM}' not found in Kerberos database"
    assert [line.startswith("clusters.dc") and reason in line for line in lines] == [True, True]


def failed(scene: Scene, folder: Path, job: str, **security: str) -> list[str]:
    """Return the lines, but those of the log, of a job that cannot log in."""
    installation = install(folder, {}, [scene.story.topic], clusters=scene.sections(**security))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HADOOP_CONF_DIR", raising=False)  # its tables are on this machine
        ended = installation.run(job, "--once")
    assert ended.exit_code == 1, ended.output()[-3000:]
    return [line for line in ended.output().splitlines() if line and not re.match(r"\d{4}-|NOTE: |WARNING: |\[", line)]
