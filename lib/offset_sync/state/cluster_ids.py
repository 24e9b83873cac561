"""Kafka's cluster ids, for mirrors that name a record's origin by them.

``index_records`` asks for them when it starts and keeps them beside its checkpoints: a lost cluster does not answer any
more, but its records have to be recognised at the others. An id is never guessed.
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
"""Timeout where the id is known from before."""


class AskedCluster(Protocol):
    """See :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def cluster_id(self, deadline: float) -> str:
        """Return the cluster's own id; raises ClusterError where it does not answer."""


def ids_file(config: Config) -> str:
    """Return where the ids are kept."""
    return f"{config.tables.checkpoints}/index_records.cluster_ids.json"


def with_known_ids(config: Config, files: Files) -> Config:
    """Return *config* with the ids that were kept, where it leaves origins to the clusters; asks no cluster.

    A cluster without a kept id stays without: records with its id count as unreadable, never as another cluster's.
    """
    return config.with_origins(_kept(config, files)) if config.to_ask() else config


def with_asked_ids(config: Config, files: Files, clusters: Mapping[str, AskedCluster]) -> Config:
    """Return *config* with the ids that the clusters report, or else the kept ones; keeps what they report.

    Raises ClusterError, with the remedy, for a cluster that does not answer and has no kept id, and ConfigError for two
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
                "clusters.%s: its id is %s and was %s: records copied from it under the old id count as unread",
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
    except (FileNotFoundError, ValueError):  # a partial file: its first write was interrupted
        return {}
    is_whole = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    return {alias: each for alias, each in found.items() if alias in config.clusters} if is_whole else {}
