"""Whether MirrorMaker says something of groups at a cluster, so that its group sync may write there too."""

from __future__ import annotations

from collections.abc import Iterator

from offset_sync.config import Config
from offset_sync.config.checkpoint_topics import checkpoint_topics
from offset_sync.jobs.checks.finding import Finding, Level
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.error_codes import NotAuthorizedError

_CHECK = "MirrorMaker"
_GUIDE = "docs/mirrors.md, Moving over from MirrorMaker's group sync"


def judge_mirror_maker(config: Config, admin: ClusterAdmin) -> Iterator[Finding]:
    """Yield one line where checkpoints are, and one where it may not be asked; nothing where there are none.

    *admin* asks by the cluster's own names, which are those of no streams.
    """
    place = f"clusters.{admin.alias}"
    topics = [each for source in config.clusters if source != admin.alias for each in checkpoint_topics(config, source)]
    there, refused = [], []
    for topic in topics:
        try:
            count = admin.partition_count(topic)
            refusal = admin.unreadable([topic]) if count else {}
        except NotAuthorizedError:
            refused.append(topic)
            continue
        if refusal:
            refused.append(topic)
        elif count:
            there.append(topic)
    if there:
        text = f"it keeps checkpoints here ({', '.join(there)}), and may sync groups; before we write, see {_GUIDE}"
        yield Finding(Level.WARN, place, _CHECK, text)
    if refused:
        text = f"if it syncs groups to here, grant Read on {', '.join(refused)}, or its commits pass for a group's own"
        yield Finding(Level.SKIP, place, _CHECK, text)
