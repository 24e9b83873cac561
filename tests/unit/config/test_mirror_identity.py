"""``mirror.identity``: headers tell which record is which; by contents nothing can be told yet."""

from __future__ import annotations

import pytest

from offset_sync.config import parse_config
from offset_sync.model.errors import ConfigError

TREE = {
    "clusters": {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in ("dc1", "dc2")},
    "topics": {"include": ["orders"]},
}


def test_headers_are_what_counts() -> None:
    assert parse_config(TREE, {}).mirror.identity == "headers"
    assert parse_config(TREE | {"mirror": {"identity": "headers"}}, {}).mirror.identity == "headers"


def test_fingerprints_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(ConfigError, match=r"mirror\.identity: .*no job compares contents; write headers") as found:
        parse_config(TREE | {"mirror": {"identity": "fingerprint"}}, {})
    assert str(found.value).count("mirror.identity") == 1
