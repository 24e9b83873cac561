"""A Kerberos login of the Python client: by the process's keytab; refused in one line where it cannot work."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync.kafka.kerberos import log_in
from offset_sync.kafka.librdkafka import library
from offset_sync.model.errors import PlatformError

# By ktadd of MIT's kadmin, for kafka/127.0.0.1@T.REALM.
KEYTAB = bytes.fromhex(
    "0502"
    "0000004e00020007542e5245414c4d00056b61666b6100093132372e302e302e31000000016b0aad"
    "75020012002089782eb6cdad80dda8c5f0560222f6c7bc8f1b6f092f4de3f1202e1ac6d79b940000"
    "0002"
)


@pytest.fixture
def keytab(tmp_path: Path) -> str:
    path = tmp_path / "sync.keytab"
    path.write_bytes(KEYTAB)
    return str(path)


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with Kerberos, and a process without a login."""
    monkeypatch.setattr(library(), "features", lambda: frozenset({"sasl_gssapi"}))
    for name in ("KRB5_CLIENT_KTNAME", "KRB5CCNAME"):
        monkeypatch.setenv(name, "")  # put back at the end
        monkeypatch.delenv(name)


def options(keytab: str, principal: str = "kafka/127.0.0.1@T.REALM") -> dict[str, str]:
    login = {"sasl.kerberos.keytab": keytab, "sasl.kerberos.principal": principal}
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", **login}


def refusal(wanted: dict[str, str]) -> str:
    with pytest.raises(PlatformError) as refused:
        log_in(wanted)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.usefixtures("able")
def test_a_keytab_that_cannot_be_used_is_named_with_the_remedy(keytab: str, tmp_path: Path) -> None:
    assert refusal(options("/none.keytab")).startswith("keytab /none.keytab cannot be read (No such file")
    found = refusal(options(keytab, "sync@T.REALM"))
    assert found.startswith(f"keytab {keytab} begins with kafka/127.0.0.1@T.REALM, not with principal sync@T.REALM")
    other = tmp_path / "no.keytab"
    for content in (b"", b"nonsense", KEYTAB[:2], KEYTAB[:20], b"\x05\x02" + bytes(4)):
        other.write_bytes(content)
        assert refusal(options(str(other))).startswith(f"{other} is no keytab")


@pytest.mark.usefixtures("able", "signals")
def test_a_job_logs_in_before_it_does_anything(keytab: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    login = {"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI", "principal": "sync@T.REALM", "keytab": keytab}
    assert run(login, tmp_path) == (1, [])
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"clusters.dc2: keytab {keytab} begins with kafka/127.0")
    assert run(login | {"principal": "kafka/127.0.0.1@T.REALM"}, tmp_path) == (0, [keytab])


def run(login: dict[str, str], folder: Path) -> tuple[int, list[str | None]]:
    """Run a job at two clusters, of which the second has this login; return its exit code and the keytab it finds."""
    servers = {alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}} for alias in ("dc1", "dc2")}
    conf, found = folder / "sync.yaml", list[str | None]()

    def job(*_: object) -> list[str]:
        found.append(os.environ.get("KRB5_CLIENT_KTNAME"))
        return []

    tree = {"clusters": {**servers, "dc2": {**servers["dc2"], "security": login}}, "topics": {"include": ["orders"]}}
    conf.write_text(json.dumps(tree))
    return run_job(job, job_arguments("Looks."), ["--conf", str(conf), "--once"]), found
