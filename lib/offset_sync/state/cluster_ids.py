"""Kafka's ids of the clusters, for mirrors that name a record's origin by them.

They are asked for when ``index_records`` starts, and kept beside its checkpoints: a cluster that is lost cannot be
asked any more, and its records have to be known on the others all the same. Nobody guesses an id.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
_DEADLINE_S = 15.0
_KNOWN_DEADLINE_S = 5.0
"""So long a cluster is waited for of which the id is known from before."""


class AskedCluster(Protocol):
    """See :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def cluster_id(self, deadline: float) -> str:
        """Return the cluster's own id; raises ClusterError where nobody says it."""


def ids_file(config: Config) -> str:
    """Return where the ids are kept."""
    return f"{config.tables.checkpoints}/index_records.cluster_ids.json"


def with_known_ids(config: Config, files: Files) -> Config:
    """Return *config* with the ids that were kept, where it leaves origins to the clusters; none of them is asked.

    A cluster of which none is kept stays without: what bears its id is taken for unreadable, never for another's.
    """
    return config.with_origins(_kept(config, files)) if config.to_ask() else config


def with_asked_ids(config: Config, files: Files, clusters: Mapping[str, AskedCluster]) -> Config:
    """Return *config* with the ids that the clusters say now, or else have said before; what they say is kept.

    Raises ClusterError, with the remedy, for a cluster that does not answer and never has, and ConfigError for two
    with the same id.
    """
    wanted = config.to_ask()
    if not wanted:
        return config
    kept = _kept(config, files)
    with ThreadPoolExecutor(len(wanted)) as pool:
        answers = dict(zip(wanted, pool.map(lambda a: _asked(clusters[a], a in kept), wanted), strict=True))
    said = {alias: answer for alias, answer in answers.items() if isinstance(answer, str)}
    for alias, answer in answers.items():
        if isinstance(answer, ClusterError):
            if alias not in kept:
                raise ClusterError(alias, _not_known(config, alias, answer)) from answer
            logger.warning("%s: its id is taken to be %s, as before", answer, kept[alias])
        elif kept.get(alias, answer) != answer:
            logger.warning(
                "clusters.%s: its id is %s and was %s: what was copied from it before counts as unread by everyone",
                alias,
                answer,
                kept[alias],
            )
    found = config.with_origins(kept | said)
    if kept | said != kept:
        files.write_text(ids_file(config), json.dumps(kept | said))
    return found


def _asked(cluster: AskedCluster, is_known: bool) -> str | ClusterError:
    try:
        return cluster.cluster_id(_KNOWN_DEADLINE_S if is_known else _DEADLINE_S)
    except ClusterError as error:
        return error


def _not_known(config: Config, alias: str, error: ClusterError) -> str:
    header = config.mirror.origin_header
    return (
        f"{str(error).removeprefix(f'clusters.{alias}: ')}; its id is not known from before either, and {header} "
        f"names it: start again when it answers, or set clusters.{alias}.origin to what that header says of its records"
    )


def _kept(config: Config, files: Files) -> dict[str, str]:
    try:
        found = json.loads(files.read_text(ids_file(config)))
    except (FileNotFoundError, ValueError):  # one that is not whole was being written for the first time
        return {}
    is_whole = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    return {alias: each for alias, each in found.items() if alias in config.clusters} if is_whole else {}
