"""Which settings Delta Kernel's engines have."""

from __future__ import annotations

from typing import Any

import pytest

from offset_sync.tables.delta import engines
from offset_sync.tables.delta.engines import engines_of

LOG_STORE = "io.delta.kernel.logStore.file.impl"


class Settings(dict[str, str]):
    """Hadoop's; made of others they are a copy."""

    def set(self, key: str, value: str) -> None:
        self[key] = value


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the session; an engine is a copy of its own."""
    of_session = Settings({"fs.s3a.endpoint": "there"})

    class DefaultEngine:
        create = staticmethod(Settings)

    classes: dict[str, Any] = {"DefaultEngine": DefaultEngine, "Configuration": Settings}
    monkeypatch.setattr(engines, "java", lambda name: classes[name.rpartition(".")[2]])
    monkeypatch.setattr(engines, "hadoop_configuration", lambda _spark: of_session)
    return of_session


def test_only_what_is_added_on_a_local_disk_goes_by_another_log_store(settings: Settings) -> None:
    found = engines_of(None)  # type: ignore[arg-type]
    assert found.usual == settings == {"fs.s3a.endpoint": "there"}
    assert found.local[LOG_STORE] == "io.delta.storage.LocalLogStore"
    assert found.local["fs.s3a.endpoint"] == "there"
    assert {key for key in found.local if key not in settings} == {
        LOG_STORE,
        "fs.file.impl",
        "fs.file.impl.disable.cache",
    }


def test_a_log_store_of_the_users_own_counts(settings: Settings) -> None:
    settings[LOG_STORE] = "com.example.Store"
    found = engines_of(None)  # type: ignore[arg-type]
    assert found.usual == found.local == settings
