"""What check finds at one cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakes.newest_logs import asked, told
from offset_sync.config import Config
from offset_sync.kafka.tail_reader import TailRecord


def said_at(
    alias: str, config: Config, logs: Mapping[str, Mapping[str, Sequence[TailRecord]]], **more: Mapping[str, Any]
) -> list[str]:
    """Return what is found at a cluster with these *logs*."""
    return told(config, asked(config, logs, **more))[f"clusters.{alias}"]
