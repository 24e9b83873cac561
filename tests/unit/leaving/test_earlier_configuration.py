"""The configuration of an earlier version is refused, and loads without the options that were removed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from leaving.kept_installation import CONFIGURATION, KEPT, without_removed_options
from offset_sync.config import load_config
from offset_sync.model.errors import ConfigError


def test_the_configuration_of_an_earlier_version_loads_without_the_removed_options(tmp_path: Path) -> None:
    environment = {"KEPT_DC1": "a:1", "KEPT_DC2": "b:2", "KEPT_FOLDER": "kept"}
    with pytest.raises(ConfigError) as caught:
        load_config(KEPT / CONFIGURATION, environment)
    assert len(caught.value.problems) == 11
    assert all(": was removed" in line for line in caught.value.problems)
    path = tmp_path / CONFIGURATION
    path.write_text(without_removed_options((KEPT / CONFIGURATION).read_text()))
    assert load_config(path, environment).status.interval == timedelta(seconds=15)
