"""Real Kafka for the tests of this folder: clusters started once per session, names that no other test uses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from broker.secured_clusters import SecuredClusters, secured_clusters
from consumer.consumer_host import Hosts, consumer_hosts
from consumer.crossing import Crossing, write_crossing
from offset_sync.sync import offset_writer
from offset_sync_demo.kafka.broker_files import BrokerPartsMissing, find_jars, find_java
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters, start_clusters

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def broker_parts() -> None:
    """Java and the broker's jars, or the reason to skip."""
    try:
        find_java()
        find_jars()
    except BrokerPartsMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def clusters(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, EmbeddedCluster]]:
    """Two clusters, dc1 and dc2. A test that stops a broker starts it again."""
    yield from _started(["dc1", "dc2"], tmp_path_factory)


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    """One of them."""
    return clusters["dc2"]


@pytest.fixture(scope="session")
def three_clusters(
    clusters: dict[str, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, EmbeddedCluster]]:
    """The same two and a third, dc3, which starts with the first test that asks for it."""
    for third in _started(["dc3"], tmp_path_factory):
        yield {**clusters, **third}


@pytest.fixture(scope="module")
def soiled_clusters(
    broker_parts: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, EmbeddedCluster]]:
    """Another dc1 and dc2 for one module, whose commit logs get what no other test shall meet in its own."""
    yield from _started(["dc1", "dc2"], tmp_path_factory)


@pytest.fixture(scope="session")
def secured(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredClusters]:
    """Two clusters with logins, TLS and ACLs, of which none is granted: a test sets the rights that it wants."""
    with secured_clusters(tmp_path_factory.mktemp("secured")) as started:
        yield started


@pytest.fixture(scope="session")
def hosts(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Processes of consumers with the interceptor; each is started with the first test that asks for its version."""
    with consumer_hosts(tmp_path_factory) as started:
        yield started


@pytest.fixture(scope="session")
def crossing(clusters: dict[str, EmbeddedCluster]) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(clusters["dc1"], "skip-read")


@pytest.fixture(scope="session")
def spark_environment(broker_parts: None) -> Iterator[None]:
    """What a job needs to find Spark's jars and this package, in this process and in those it starts."""
    from broker.installation import prepare_environment, shared_session

    prepare_environment()
    with shared_session():
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_clients_of_others() -> Iterator[None]:
    """A process keeps the clients of its targets for the next task; here each test has other targets."""
    yield
    offset_writer._client.cache_clear()


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A topic name of this test only."""
    return _unique(request, "t")


@pytest.fixture
def group_name(request: pytest.FixtureRequest) -> str:
    """A group id of this test only."""
    return _unique(request, "g")


def _started(aliases: list[str], paths: pytest.TempPathFactory) -> Iterator[dict[str, EmbeddedCluster]]:
    started = start_clusters(aliases, paths.mktemp("brokers"))
    yield started
    kill_clusters(started)


def _unique(request: pytest.FixtureRequest, prefix: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return f"{prefix}-{words[:60].strip('-')}-{next(_numbers)}"
