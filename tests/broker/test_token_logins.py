"""Logins by tokens: OIDC, at a broker that validates them by their issuer's key, and Amazon MSK's by AWS IAM.

AWS is never asked, and no signature of its tokens verified. Java's side needs brokers with the mechanism AWS_MSK_IAM,
which Apache Kafka's have not: of it only the missing jar is tested.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import consumer_jar
from broker.installation import Installation, install, until
from broker.secured_clusters import running, with_listener
from broker.story import Story
from broker.token_server import AUDIENCE, CLIENT, SCOPE, SECRET, TokenServer, token_server
from consumer.skip_read_jar import compiled
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.kafka import msk_tokens
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.model.errors import PlatformError
from offset_sync.model.finding import Level
from offset_sync.model.values import OffsetRange, OffsetWrite, TopicPartition
from offset_sync_demo.kafka.broker_files import find_jars
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(600)
SIGNER = "aws_msk_iam_sasl_signer"
SOURCE = Path(__file__).parents[1] / "support" / "broker" / "PresignedTokens.java"
CANARY = "c4n4ry"
OAUTH = "org.apache.kafka.common.security.oauthbearer"


@dataclass(frozen=True)
class Scene:
    """A story between two brokers, of which dc1 takes tokens at *address*."""

    story: Story
    address: str
    login: dict[str, str]

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(*self.story.place)

    def installed(self, folder: Path, **security: str) -> Installation:
        """Return an installation; *security* instead of what is right."""
        sections: dict[str, Any] = {
            "dc1": {"kafka": {"bootstrap.servers": self.address}, "security": self.login | security},
            "dc2": {"kafka": {"bootstrap.servers": self.story.servers["dc2"]}},
        }
        topic = self.story.topic
        return install(folder, {}, [topic], clusters=sections, groups={"include": [f"{topic}-.*"]})


@contextmanager
def scene_of(
    dc2: EmbeddedCluster, folder: Path, topic: str, handler: str, more: dict[str, str], java: tuple[str, ...] = ()
) -> Iterator[Scene]:
    """Start dc1 with a listener whose tokens *handler* validates; dc2 has copies of its records."""
    listener = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "oauthbearer.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        "oauthbearer.sasl.server.callback.handler.class": handler,
    }
    settings = {f"listener.name.tokens.{name}": value for name, value in listener.items()} | more
    dc1, address = with_listener("dc1", folder / "dc1", "TOKENS", "SASL_PLAINTEXT", settings)
    dc1.java_options = java
    with running({"dc1": dc1}):
        story = Story({"dc1": dc1, "dc2": dc2}, topic).begin()
        story.write(20)
        story.commit(f"{topic}-group", 7)
        yield Scene(story, address, {"protocol": "SASL_PLAINTEXT"})


def is_well(installation: Installation) -> bool:
    """Return whether check finds nothing wrong, is logged in, and shows no secret."""
    findings = find_all(load_config(installation.config_file))
    assert [each.level for each in findings if (each.place, each.check) == ("clusters.dc1", "connection")] == [Level.OK]
    assert CANARY not in str(findings)
    return [each for each in findings if each.level is Level.FAIL] == []


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with token_server(tmp_path_factory.mktemp("provider")) as server:
        yield server


@pytest.fixture(scope="module")
def oidc(
    clusters: dict[str, EmbeddedCluster],
    tokens: TokenServer,
    spark_environment: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    settings = {
        "sasl.oauthbearer.jwks.endpoint.url": f"{tokens.url}/jwks",
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": tokens.url,
    }
    allowed = (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}/jwks",)
    handler, folder = f"{OAUTH}.OAuthBearerValidatorCallbackHandler", tmp_path_factory.mktemp("oidc")
    with scene_of(clusters["dc2"], folder, "tokens", handler, settings, allowed) as scene:
        scene.login.update({"mechanism": "OAUTHBEARER", "username": CLIENT, "password": SECRET})
        scene.login.update({"token_endpoint": f"{tokens.url}/token", "scope": SCOPE})
        yield scene


def test_all_jobs_log_in_by_tokens_of_oidc_and_a_wrong_secret_is_said_and_not_shown(
    oidc: Scene, tokens: TokenServer, tmp_path: Path
) -> None:
    installation = oidc.installed(tmp_path)
    assert (installation.index(), installation.sync()) == ([], [])
    assert oidc.story.offset("tokens-group") == 7
    assert installation.report() == []
    assert all(each["grant_type"] == ["client_credentials"] for each in tokens.asked)
    assert is_well(installation)
    wrong = load_config(oidc.installed(tmp_path, password=f"{CANARY}-wrong").config_file)
    (failed,) = [each for each in find_all(wrong) if each.level is Level.FAIL]
    assert (failed.place, failed.check, "token" in failed.text) == ("clusters.dc1", "connection", True)
    assert CANARY not in str(failed)


@pytest.fixture(scope="module")
def msk(
    clusters: dict[str, EmbeddedCluster], spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    pytest.importorskip(SIGNER, reason="the extra msk is not installed: run 'make install'")
    try:
        consumer_jar.PART.find_javac()
    except SystemExit as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("msk-iam")
    classes = compiled([SOURCE], [], folder / "classes", release=17)
    # So that it ends the connections of clients that do not log in again before their token expires.
    settings = {"connections.max.reauth.ms": "3600000"}
    java = ("-cp", ":".join(map(str, [*sorted(find_jars().glob("*.jar")), classes])))  # as the archive has them
    with scene_of(clusters["dc2"], folder, "signed", "PresignedTokens", settings, java) as scene:
        scene.login.update({"mechanism": "AWS_MSK_IAM", "region": "eu-west-1"})
        yield scene


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    msk_tokens._signer.cache_clear()
    yield
    msk_tokens._signer.cache_clear()


@pytest.mark.usefixtures("_credentials")
def test_at_msk_the_check_logs_in_and_a_job_without_javas_jar_ends_with_the_remedy(msk: Scene, tmp_path: Path) -> None:
    installation = msk.installed(tmp_path)
    assert is_well(installation)
    for job in (installation.index, installation.sync):
        with pytest.raises(
            PlatformError, match=r"^clusters\.dc1: Spark lacks the class software\.amazon\.msk\..*--jars"
        ):
            job()


@pytest.mark.usefixtures("_credentials")
def test_every_kind_of_client_logs_in_again_before_its_token_expires(
    msk: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiry_s, signed, sign = 4, list[object](), msk_tokens._signed
    signer = pytest.importorskip(f"{SIGNER}.MSKAuthTokenProvider")
    monkeypatch.setattr(signer, "DEFAULT_TOKEN_EXPIRY_SECONDS", expiry_s)
    monkeypatch.setattr(msk_tokens, "_signed", lambda login: signed.append(login) or sign(login))
    options = load_config(msk.installed(tmp_path).config_file).admin_options("dc1")
    admin = ClusterAdmin("dc1", options)
    for round_ in range(2):
        assert msk.place.topic in admin.topics()
        assert admin.ends([msk.place])[msk.place].log_end == 20
        assert admin.committed_offsets(["signed-group"])["signed-group"][msk.place].offset == 7 + round_
        write = OffsetWrite("signed-group", *msk.place, 8 + round_, None, 7 + round_)
        assert admin.write_offsets({"signed-group": [write]}) == {"signed-group": {msk.place: None}}
        assert not any(admin.groups().values())
        (read,) = RangeReader("dc1", options).read({msk.place: OffsetRange(0, 20)})
        assert len(read) == 20
        before = len(signed)
        time.sleep(expiry_s + 1)  # until each token of this round has expired
        until(lambda before=before: len(signed) > before)  # type: ignore[misc]
