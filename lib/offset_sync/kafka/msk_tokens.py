"""Tokens for Amazon MSK: presigned requests of AWS, made by AWS' own signer for Python.

librdkafka (2.16) has no mechanism AWS_MSK_IAM, and its own use of AWS IAM asks STS for JWTs, which MSK does not accept.
MSK accepts the signer's tokens by OAUTHBEARER. They expire after 15 minutes: librdkafka calls for the next one in time.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from offset_sync.model.errors import PlatformError
from offset_sync.model.msk_login import MskLogin, read_msk_login
from offset_sync.model.text import escaped

logger = logging.getLogger(__name__)
OPTION = "sasl.oauthbearer.config"
_PAUSE_MS = 30_000
_MISSING = (
    "security.mechanism AWS_MSK_IAM: the Python package {} is missing; run: pip install "
    "aws-msk-iam-sasl-signer-python (in the environments of driver and executors)"
)


class TokenError(ValueError):
    """AWS has no credentials for us, or does not answer."""


class Token(NamedTuple):
    """A token, and when it expires by the wall clock."""

    value: str
    expires_at_ms: int


def with_tokens(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return *options* for a client of confluent_kafka, with a source of tokens if they are of an MSK login.

    Raises TokenError without a first token: the client would wait ten seconds for it, and not say why there is none.
    Such a client takes a second longer to open: confluent_kafka (2.16) sleeps that long before it looks for the token.
    """
    if not needs_token(options):
        return dict(options)
    return {**options, "oauth_cb": _token_and_end}


def needs_token(options: Mapping[str, Any]) -> bool:
    """Return whether *options* are of an MSK login, once there is a token for it; raises TokenError without one."""
    login = read_msk_login(str(options.get(OPTION, "")))
    if login is not None:
        _signer(login).token()
    return login is not None


def token_for(option: str) -> Token:
    """Return a token for the value of ``sasl.oauthbearer.config``; raises TokenError."""
    login = read_msk_login(option)
    if login is None:
        raise TokenError(f"{OPTION} is of no login at Amazon MSK")
    return _signer(login).token()


def _token_and_end(option: str) -> tuple[str, float]:
    """Return a token and when it expires, in seconds: the callback, which must not refer to its client."""
    token = token_for(option)
    return token.value, token.expires_at_ms / 1000


class _Signer:
    """Tokens of one login, which all clients of this process share; threads too."""

    def __init__(self, login: MskLogin) -> None:
        self._login, self._lock = login, threading.Lock()
        self._last: Token | None = None
        self._fresh_until_ms = 0

    def token(self) -> Token:
        """Return a token with at least half of its lifetime left, or else the last one until it expires.

        While there is a last one, AWS is asked once in :data:`_PAUSE_MS`: a failure may take long.
        """
        with self._lock:
            now_ms = _now_ms()
            is_valid = self._last is not None and self._last.expires_at_ms > now_ms
            if self._last is None or not is_valid or now_ms > self._fresh_until_ms:
                try:
                    self._last = _signed(self._login)
                    self._fresh_until_ms = (now_ms + self._last.expires_at_ms) // 2
                except TokenError as problem:
                    if self._last is None or not is_valid:
                        raise
                    self._fresh_until_ms = now_ms + _PAUSE_MS
                    logger.warning("no new token, so the last one is used: %s", problem)
            return self._last


@functools.cache
def _signer(login: MskLogin) -> _Signer:
    return _Signer(login)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _signed(login: MskLogin) -> Token:
    """Return a new token; raises TokenError, and PlatformError where the signer is not installed."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as signer
    except ImportError as problem:
        raise PlatformError(_MISSING.format(problem.name)) from problem
    try:
        if login.profile:
            value, expires_at_ms = signer.generate_auth_token_from_profile(login.region, login.profile)
        else:
            value, expires_at_ms = signer.generate_auth_token(login.region)
    except AttributeError as problem:  # the signer does not expect that there are none
        raise TokenError("no login at Amazon MSK: no AWS credentials were found by the default chain") from problem
    except Exception as problem:  # any of botocore's
        raise TokenError(f"no login at Amazon MSK: {type(problem).__name__}: {escaped(str(problem))}") from problem
    return Token(value, expires_at_ms)
