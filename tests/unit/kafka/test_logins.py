"""Logins of the Python client: tokens for Amazon MSK, and Kerberos by the keytab of the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offset_sync.kafka import msk_tokens
from offset_sync.kafka.clients import log_in
from offset_sync.kafka.librdkafka import library
from offset_sync.kafka.msk_tokens import Token, TokenError, token_for
from offset_sync.model.errors import PlatformError
from offset_sync.model.msk_login import MskLogin

LOGIN = MskLogin("us-west-2").to_option()
SIGNER = "aws_msk_iam_sasl_signer"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    msk_tokens._signer.cache_clear()
    yield
    msk_tokens._signer.cache_clear()


class Signing:
    """In place of the signer: tokens that live for a minute, or the error it is told to raise."""

    def __init__(self) -> None:
        self.asked = 0
        self.problem: Exception | None = None

    def generate_auth_token(self, *words: str) -> tuple[str, int]:
        self.asked += 1
        if self.problem is not None:
            raise self.problem
        return f"{' '.join(words)} {self.asked}", 60_000 + msk_tokens._now_ms()

    generate_auth_token_from_profile = generate_auth_token


@pytest.fixture
def signing(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Signing()
    monkeypatch.setitem(sys.modules, SIGNER, SimpleNamespace(MSKAuthTokenProvider=made))
    return made


def test_a_token_is_shared_until_half_of_its_life_and_serves_to_its_end_while_aws_does_not_answer(
    signing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000_000]
    monkeypatch.setattr(msk_tokens, "_now_ms", lambda: now[0])
    assert token_for(LOGIN) == Token("us-west-2 1", 1_060_000)
    now[0] += 30_000
    assert token_for(LOGIN).value == "us-west-2 1"
    now[0] += 1
    last = token_for(LOGIN)
    assert last.value == "us-west-2 2"
    assert token_for(MskLogin("us-west-2", "prod").to_option()).value == "us-west-2 prod 3"
    signing.problem, asked = OSError("no route to the metadata service\nxxx"), signing.asked
    now[0] = last.expires_at_ms - 1_000
    assert [token_for(LOGIN) for _ in range(5)] == [last] * 5
    assert signing.asked == asked + 1, "a failure may take long"
    now[0] += 1_000
    with pytest.raises(TokenError, match=r"^no login at Amazon MSK: OSError: no route[^\n]*$"):
        token_for(LOGIN)


@pytest.fixture
def keytab(tmp_path: Path) -> str:
    path = tmp_path / "sync.keytab"
    path.touch()
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
    assert refusal(options("/none.keytab")).startswith("keytab /none.keytab cannot be read")
    log_in(options(keytab))
    other = tmp_path / "other.keytab"
    other.touch()
    assert refusal(options(str(other))).startswith(f"keytab {other} is not the {keytab} of another cluster")
