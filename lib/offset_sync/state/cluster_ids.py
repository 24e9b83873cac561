"""Kafka's ids of the clusters, kept with their first answers: another cluster at the same addresses is refused.

``index_records`` and ``sync_offsets`` keep them, beside the checkpoints. Other commands and dry runs only compare, so
none of them makes a wrong first answer last. A lost cluster keeps its id, by which some mirrors name its records. An
id is never guessed.

Our clients compare the id with each answer (``kafka/librdkafka.py``). Spark's do not, so :func:`verify` asks by a
connection of its own, before a query is started and after each micro-batch was read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.librdkafka import refuse_other
from offset_sync.model.errors import ClusterError
from offset_sync.tables.files import Files

_DEADLINE_S = 15.0
_SHORT_S = 3.0
"""Timeout at a start where nothing depends on the id: it is kept when the cluster answers."""

Ask = Callable[[Config, str, float], str]
"""Asks a cluster for its id, by its alias and within so many seconds; ClusterError where it does not answer."""


def ask_by_new_client(config: Config, alias: str, deadline: float) -> str:
    """See :data:`Ask`; raises OtherClusterError where *config* knows another id."""
    return ClusterAdmin(alias, config.admin_options(alias)).cluster_id(deadline)


def ids_file(config: Config) -> str:
    """Return where the ids are kept."""
    return f"{config.tables.checkpoints}/index_records.cluster_ids.json"


def with_known_ids(config: Config, files: Files) -> Config:
    """Return *config* with the ids that were kept; asks no cluster.

    Copies from a cluster without a kept id count as unreadable if the mirror names it by that, never as another's.
    """
    return config.with_ids(_kept(config, files))


def with_first_ids(config: Config, files: Files, ask: Ask = ask_by_new_client) -> Config:
    """Return *config* with the ids that were kept, and with those of clusters that answer for the first time.

    Raises ConfigError if two aliases are one cluster, and ClusterError, with the remedy, for a cluster that does not
    answer where the mirror names its records by its id.
    """
    config = with_known_ids(config, files)
    wanted, needed = [alias for alias in config.clusters if alias not in config.ids], config.to_ask()

    def asked(alias: str) -> str:
        try:
            return ask(config, alias, _DEADLINE_S if alias in needed else _SHORT_S)
        except ClusterError as error:
            if alias in needed:
                raise ClusterError(alias, _not_known(config, error)) from error
            return ""

    with ThreadPoolExecutor(max(1, len(wanted))) as pool:
        found = dict(zip(wanted, pool.map(asked, wanted), strict=True))
    return _keep(config, files, {alias: each for alias, each in found.items() if each})


def refuse_shared(config: Config, aliases: Iterable[str], ask: Ask = ask_by_new_client) -> None:
    """Raise ConfigError if one of *aliases* without a kept id leads to the cluster of another one; keeps no id."""
    found = dict(config.ids)
    for alias in aliases:
        if alias not in found:
            with suppress(ClusterError):
                found[alias] = ask(config, alias, _SHORT_S)
    config.with_ids(found)


def verify(config: Config, files: Files | None, alias: str, deadline: float = _DEADLINE_S) -> None:
    """Raise OtherClusterError unless a new client gets to the cluster *alias*; keep a first id in *files*, if given."""
    found = ask_by_new_client(config, alias, deadline)
    if files is not None and alias not in config.ids:
        _keep(config, files, {alias: found})


def _keep(config: Config, files: Files, found: Mapping[str, str]) -> Config:
    kept = _kept(config, files)
    for alias, each in found.items():
        refuse_other(alias, kept.get(alias, ""), each)  # another job may have kept one meanwhile
    known = config.with_ids({**kept, **found})
    if known.ids != kept:
        files.write_text(ids_file(config), json.dumps(known.ids))
    return known


def _not_known(config: Config, error: ClusterError) -> str:
    header = config.mirror.origin_header
    return (
        f"{error.message}; its id is not known from before either, and {header} names it: start again when it answers, "
        f"or set clusters.{error.cluster}.origin to what that header says of its records"
    )


def _kept(config: Config, files: Files) -> dict[str, str]:
    try:
        found = json.loads(files.read_text(ids_file(config)))
    except (FileNotFoundError, ValueError):  # a partial file: its first write was interrupted
        return {}
    is_whole = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    return {alias: each for alias, each in found.items() if alias in config.clusters} if is_whole else {}
