"""MirrorMaker's checkpoints at a real cluster; apart from what is known of them, which needs no client of Kafka's."""

from __future__ import annotations

from offset_sync.config import Config
from offset_sync.config.prefix_names import checkpoint_topics
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.internal_logs import CheckpointLog
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints


def open_checkpoints(config: Config, alias: str, admin: ClusterAdmin) -> MirrorCheckpoints:
    """Return what MirrorMaker may have said at the cluster *alias*, of which nothing is read yet."""
    options = config.admin_options(alias)
    logs = {
        source: [CheckpointLog(admin, options, topic) for topic in checkpoint_topics(config, source)]
        for source in config.clusters
        if source != alias
    }
    return MirrorCheckpoints(alias, logs, config.names)
