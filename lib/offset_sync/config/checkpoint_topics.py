"""Where MirrorMaker 2 keeps its checkpoints (``DefaultReplicationPolicy.checkpointsTopic``)."""

from __future__ import annotations

from offset_sync.config.configuration import Config
from offset_sync.config.presets import OWN

_ITS_OWN_SEPARATOR = "."


def checkpoint_topics(config: Config, source: str) -> tuple[str, ...]:
    """Return what the topic with the checkpoints of the groups of *source* may be called where it is copied to.

    By what MirrorMaker calls that cluster: its alias in names, and what stands in the header of the origin, which by
    default is the same. It may have its separator there, or a dot. None where another mirror than MirrorMaker copies.
    """
    if config.mirror.preset != OWN:
        return ()
    cluster = config.clusters[source]
    aliases = [cluster.mirror_alias or source, cluster.origin or source]
    separators = [config.mirror.separator, _ITS_OWN_SEPARATOR]
    return tuple(dict.fromkeys(f"{a}{s}checkpoints{s}internal" for a in aliases for s in separators))
