"""Values that must not be shown."""

from __future__ import annotations

import re

from pydantic import ValidatorFunctionWrapHandler

HIDDEN = "***"
# Also valid in Java, so that the Spark session can extend spark.redaction.regex with it.
HIDDEN_NAMES = r"(?i)password|passphrase|secret|token|credential|jaas|sasl\.username?|sasl\.oauthbearer\.config|key"


class Secret(str):
    """Text whose ``repr`` is ``***``, so that containers, models and error messages do not show it.

    ``str()`` and formatting give the real text, which the Kafka clients need.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{HIDDEN}'"


def is_secret_name(name: str) -> bool:
    """Whether the value of this client option is hidden; errs to hiding (``ssl.keystore.type`` is hidden too)."""
    return re.search(HIDDEN_NAMES, name) is not None


def keep_secret(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Validate *value* and keep it a :class:`Secret` if it was one; pydantic alone would make it plain text."""
    valid = validate(value)
    return Secret(valid) if isinstance(value, Secret) and isinstance(valid, str) else valid


def with_secrets(options: dict[str, str]) -> dict[str, str]:
    """Return *options* with the values of secret names made :class:`Secret`."""
    return {name: Secret(value) if is_secret_name(name) else value for name, value in options.items()}
