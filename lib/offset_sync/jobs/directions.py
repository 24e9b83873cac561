"""The two clusters that a command is given: ``--from`` and ``--to``."""

from __future__ import annotations

from offset_sync.config import Config
from offset_sync.model.errors import ConfigError


def check_direction(config: Config, source: str, target: str) -> None:
    """Raise ConfigError where offsets are not synced from *source* to *target*."""
    if (source, target) not in config.pairs():
        known = ", ".join(f"{one} to {other}" for one, other in config.pairs())
        raise ConfigError([f"--from {source} --to {target}: not a direction of the configuration, which has {known}"])
