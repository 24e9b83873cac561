"""Logins by OIDC: a broker that validates tokens by their issuer's key, and both jobs by one section ``security``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install
from broker.secured_clusters import with_listener
from broker.token_server import AUDIENCE, CLIENT, SCOPE, SECRET, TokenServer, token_server
from offset_sync_demo.kafka import brokers
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(600)]

PLACE = ("tokens", 0)
_OAUTH = "org.apache.kafka.common.security.oauthbearer"


@dataclass(frozen=True)
class Scene:
    """Two brokers, of which dc1 takes tokens, and the provider."""

    clusters: dict[str, EmbeddedCluster]
    address: str
    tokens: TokenServer

    def sections(self, **security: str) -> dict[str, Any]:
        """Return ``clusters`` of a configuration; *security* instead of what is right."""
        login = {"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "username": CLIENT, "password": SECRET}
        login |= {"token_endpoint": f"{self.tokens.url}/token", "scope": SCOPE}
        return {
            "dc1": {"kafka": {"bootstrap.servers": self.address}, "security": login | security},
            "dc2": {"kafka": {"bootstrap.servers": self.clusters["dc2"].bootstrap_servers}},
        }


@pytest.fixture(scope="module")
def scene(
    clusters: dict[str, EmbeddedCluster], spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("oidc")
    with token_server(folder / "provider") as tokens:
        settings = {
            "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.tokens.oauthbearer.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            "listener.name.tokens.oauthbearer.sasl.server.callback.handler.class": (
                f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
            ),
            "sasl.oauthbearer.jwks.endpoint.url": f"{tokens.url}/jwks",
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": tokens.url,
        }
        guarded, address = with_listener("dc1", folder / "dc1", "TOKENS", "SASL_PLAINTEXT", settings)
        brokers._format([guarded])
        os.environ["JDK_JAVA_OPTIONS"] = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}/jwks"
        try:
            guarded.launch()
        finally:
            del os.environ["JDK_JAVA_OPTIONS"]
        try:
            guarded.wait_until_ready()
            both = {"dc1": guarded, "dc2": clusters["dc2"]}
            for cluster in both.values():
                create_topics(cluster, {PLACE[0]: 1})
            write_log(guarded, {PLACE: native_log("dc1", 20)})
            write_log(clusters["dc2"], {PLACE: [None, None, *copied_log("dc1", range(20), first=2)]})
            commit(guarded, {"tokens-group": {PLACE: 7}})
            yield Scene(both, address, tokens)
        finally:
            kill_clusters({"dc1": guarded})


def installed(scene: Scene, folder: Path, **security: str) -> Installation:
    groups = {"include": ["tokens-.*"]}
    return install(folder, {}, [PLACE[0]], clusters=scene.sections(**security), groups=groups)


@pytest.fixture(scope="module")
def installation(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return installed(scene, tmp_path_factory.mktemp("oidc-jobs"))


def test_all_jobs_log_in_by_tokens(scene: Scene, installation: Installation) -> None:
    assert (installation.index(), installation.sync()) == ([], [])
    assert committed(scene.clusters["dc2"], ["tokens-group"])["tokens-group"][PLACE].offset == 9
    assert installation.report() == []
    assert all(each["grant_type"] == ["client_credentials"] for each in scene.tokens.asked)
    said = installation.run("check")
    assert said.process.returncode == 0, said.output()
    assert "SASL_PLAINTEXT" in said.output()


def test_a_wrong_secret_is_said_by_each_job_and_not_shown(scene: Scene, tmp_path: Path) -> None:
    wrong = installed(scene, tmp_path, password="c4n4ry-wrong")
    for failures in (wrong.sync(), wrong.index()):
        assert failures, "the broker let it in"
        assert all("token" in each and "\n" not in each for each in failures), failures
        assert "c4n4ry" not in "".join(failures)
