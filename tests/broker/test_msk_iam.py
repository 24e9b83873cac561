"""Logins at Amazon MSK by AWS IAM: a broker that takes any unexpired token of AWS' signer, and the Python clients.

AWS is never asked, and no signature verified. Java's side needs brokers with the mechanism AWS_MSK_IAM, which Apache
Kafka's have not: of it only the missing jar is tested.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import consumer_jar
from broker.committed_offsets import commit
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install
from broker.secured_clusters import with_listener
from consumer.skip_read_jar import compiled
from offset_sync.config import load_config
from offset_sync.kafka import msk_tokens
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_members import GroupStates
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.model.errors import PlatformError
from offset_sync.model.values import OffsetRange, OffsetWrite, Rule, TopicPartition
from offset_sync_demo.kafka import brokers
from offset_sync_demo.kafka.broker_files import find_jars
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(600)]

SIGNER = "aws_msk_iam_sasl_signer"
SOURCE = Path(__file__).parents[1] / "support" / "broker" / "PresignedTokens.java"
PLACE = TopicPartition("signed", 0)
CANARY = "c4n4ry"
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"


@dataclass(frozen=True)
class Scene:
    """Two brokers, of which dc1 takes tokens at *address*."""

    clusters: dict[str, EmbeddedCluster]
    address: str

    def installed(self, folder: Path) -> Installation:
        security = {"protocol": "SASL_PLAINTEXT", "mechanism": "AWS_MSK_IAM", "region": "eu-west-1"}
        sections: dict[str, Any] = {
            "dc1": {"kafka": {"bootstrap.servers": self.address}, "security": security},
            "dc2": {"kafka": {"bootstrap.servers": self.clusters["dc2"].bootstrap_servers}},
        }
        return install(folder, {}, [PLACE.topic], clusters=sections, groups={"include": ["signed-.*"]})


@pytest.fixture(scope="module")
def scene(
    clusters: dict[str, EmbeddedCluster], spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    pytest.importorskip(SIGNER, reason="the extra msk is not installed: run 'make install'")
    try:
        consumer_jar.PART.find_javac()
    except SystemExit as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("msk-iam")
    settings = {
        "listener.name.signed.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.signed.oauthbearer.sasl.jaas.config": _MODULE,
        "listener.name.signed.oauthbearer.sasl.server.callback.handler.class": "PresignedTokens",
        # So that it ends the connections of clients that do not log in again before their token expires.
        "connections.max.reauth.ms": "3600000",
    }
    guarded, address = with_listener("dc1", folder / "dc1", "SIGNED", "SASL_PLAINTEXT", settings)
    classes = compiled([SOURCE], [], folder / "classes", release=17)
    guarded.java_options = ("-cp", f"{find_jars() / '*'}:{classes}")
    brokers._format([guarded])
    try:
        guarded.start()
        both = {"dc1": guarded, "dc2": clusters["dc2"]}
        for cluster in both.values():
            create_topics(cluster, {PLACE.topic: 1})
        write_log(guarded, {PLACE: native_log("dc1", 20)})
        write_log(clusters["dc2"], {PLACE: copied_log("dc1", range(20))})
        commit(guarded, {"signed-group": {PLACE: 7}})
        yield Scene(both, address)
    finally:
        kill_clusters({"dc1": guarded})


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    msk_tokens._signer.cache_clear()
    yield
    msk_tokens._signer.cache_clear()


def test_the_check_logs_in_by_tokens(scene: Scene, tmp_path: Path) -> None:
    said = scene.installed(tmp_path).run("check")
    assert said.process.returncode == 0, said.output()
    assert "SASL_PLAINTEXT" in said.output()
    assert CANARY not in said.output()


def test_every_kind_of_client_logs_in_again_before_its_token_expires(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = pytest.importorskip(f"{SIGNER}.MSKAuthTokenProvider")
    monkeypatch.setattr(signer, "DEFAULT_TOKEN_EXPIRY_SECONDS", 6)
    signed = list[int]()
    sign = msk_tokens._signed
    monkeypatch.setattr(msk_tokens, "_signed", lambda login, at_ms: signed.append(at_ms) or sign(login, at_ms))
    options = load_config(scene.installed(tmp_path).config_file).admin_options("dc1")
    admin, states = ClusterAdmin("dc1", options), GroupStates("dc1", options)
    for round_ in range(3):
        assert PLACE.topic in admin.topics()
        assert admin.ends([PLACE])[PLACE].log_end == 20
        assert admin.committed_offsets(["signed-group"])["signed-group"][PLACE].offset == 7 + round_
        write = OffsetWrite("signed-group", *PLACE, 8 + round_, None, Rule.SET, 7 + round_)
        assert admin.write_offsets({"signed-group": [write]}) == {"signed-group": {PLACE: None}}
        assert states.active() == frozenset()
        (read,) = RangeReader("dc1", options).read({PLACE: OffsetRange(0, 20)})
        assert len(read) == 20
        time.sleep(7)
    assert len(signed) >= 4


def test_a_job_without_javas_jar_ends_with_the_remedy_in_one_line(scene: Scene, tmp_path: Path) -> None:
    installation = scene.installed(tmp_path)
    for job in (installation.index, installation.sync):
        with pytest.raises(
            PlatformError, match=r"^clusters\.dc1: Spark lacks the class software\.amazon\.msk\..*--jars"
        ):
            job()


def test_a_refused_login_is_told_without_the_token(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = pytest.importorskip(f"{SIGNER}.MSKAuthTokenProvider")
    monkeypatch.setattr(signer, "ACTION_NAME", "kafka-cluster:Disconnect")
    options = load_config(scene.installed(tmp_path).config_file).admin_options("dc1")
    with pytest.raises(Exception, match="invalid_token") as refused:
        ClusterAdmin("dc1", options).topics()
    assert "X-Amz" not in str(refused.value)
    assert msk_tokens.token_for(options[msk_tokens.OPTION]).value not in str(refused.value)
