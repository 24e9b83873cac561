"""Whether the clusters' own ids, by which some mirrors name them, are what the configuration has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from offset_sync.config import Config
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level

_CHECK = "cluster id"
Ids = Mapping[str, str | ClusterError]


def ask_ids(config: Config, clusters: Iterable[OwnRights]) -> Ids:
    """Return what each cluster says of its id, by alias; nothing where the mirror does not name it."""
    return {each.alias: _asked(each) for each in clusters} if config.mirror.known.asks_ids else {}


def with_ids(config: Config, ids: Ids) -> Config:
    """Return *config* with the *ids* where it leaves origins to the clusters; raises ConfigError for two alike."""
    return config.with_origins({alias: each for alias, each in ids.items() if isinstance(each, str)})


def judge_id(config: Config, alias: str, ids: Ids) -> Iterator[Finding]:
    """Yield what cluster *alias* says of its id, beside what *config* has; nothing where it was not asked."""
    place, header = f"clusters.{alias}", config.mirror.origin_header
    if alias not in ids:
        return
    said, given = ids[alias], config.clusters[alias].origin
    if isinstance(said, ClusterError):
        text = str(said).removeprefix(f"{place}: ")
        level = Level.SKIP if given else Level.FAIL
        yield Finding(level, place, _CHECK, f"{text}; or set {place}.origin to what {header} says of its records")
    elif given not in ("", said):
        text = f"it is {said}, and {place}.origin is {given}: what {header} calls {said} is unread by everyone"
        yield Finding(Level.WARN, place, _CHECK, f"{text}; remove origin, unless this is another way to the cluster")
    else:
        yield Finding(Level.OK, place, _CHECK, f"{said}, as {header} has to name it")


def _asked(cluster: OwnRights) -> str | ClusterError:
    try:
        return cluster.cluster_id()
    except ClusterError as error:
        return error
