"""What MirrorMaker 2 is told for the benchmark: one flow that syncs groups, one topic of it with headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync_demo.kafka.clients import Endpoint
from offset_sync_demo.kafka.connect_transform import TRANSFORM
from offset_sync_demo.kafka.mirror_maker import START_QUICKLY, UNREPLICATED

SOURCE, TARGET = "dc1", "dc2"
DEFAULTS: dict[str, str] = {}
"""Run ``default``: nothing is set that Kafka has a default for."""
FASTEST = {
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "offset.lag.max": "0",
    # How often Connect asks for the offset syncs that were put off; an option of the worker, hence of the target.
    f"{TARGET}.offset.flush.interval.ms": "1000",
}
"""Run ``fastest``: whole seconds are the finest that the intervals take."""

SAME_NAMED = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
"""Without it a copy of dc1's ``orders`` is called ``dc1.orders``."""


def properties(
    clusters: Mapping[str, Endpoint], topics: Sequence[str], stamped: str | None, groups: str, told: Mapping[str, str]
) -> str:
    """Return ``mm2.properties``: *topics* with the groups that match *groups*, headers on the copies called *stamped*.

    Without such there is no transform at all. *told* is what else it is told: intervals, names.
    """
    flow = f"{SOURCE}->{TARGET}"
    settings = {
        "clusters": f"{SOURCE}, {TARGET}",
        **{f"{alias}.bootstrap.servers": clusters[alias].bootstrap_servers for alias in (SOURCE, TARGET)},
        f"{flow}.enabled": "true",
        f"{flow}.topics": ", ".join(topics),
        f"{flow}.groups": groups,
        "sync.group.offsets.enabled": "true",
        # Without heartbeats there is no second herder, for the way back.
        "emit.heartbeats.enabled": "false",
        "sync.topic.acls.enabled": "false",
        **START_QUICKLY,
        **{f"{TARGET}.{name}": value for name, value in START_QUICKLY.items()},
        **(_stamp(flow, stamped) if stamped else {}),
        **UNREPLICATED,
        **told,
    }
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


def _stamp(flow: str, topic: str) -> dict[str, str]:
    """Return what makes a flow stamp the copies of one topic."""
    return {
        f"{flow}.transforms": "stamp",
        f"{flow}.transforms.stamp.type": TRANSFORM,
        f"{flow}.transforms.stamp.predicate": "stamped",
        f"{flow}.predicates": "stamped",
        f"{flow}.predicates.stamped.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        f"{flow}.predicates.stamped.pattern": topic,
    }
