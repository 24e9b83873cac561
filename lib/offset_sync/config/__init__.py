"""The configuration: one YAML file, read once at start, frozen afterwards.

:func:`load_config` returns a whole :class:`Config` or raises :class:`offset_sync.model.errors.ConfigError` with the
problems of the file, one ``path.to.key: what is wrong; remedy`` line each. Secrets never show in ``repr``, ``str`` or
an error message.
"""

from __future__ import annotations

from offset_sync.config.configuration import Config
from offset_sync.config.load import load_config, parse_config
from offset_sync.config.mirror import Mirror
from offset_sync.config.secret import HIDDEN_NAMES
from offset_sync.config.sections import Metrics, Override, Topics

__all__ = ["HIDDEN_NAMES", "Config", "Metrics", "Mirror", "Override", "Topics", "load_config", "parse_config"]
