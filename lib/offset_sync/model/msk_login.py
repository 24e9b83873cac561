"""A login at Amazon MSK by AWS IAM, as text among the Python client's options, which go to executors as text too."""

from __future__ import annotations

import json
from typing import NamedTuple

_MARK = "msk_iam"


class MskLogin(NamedTuple):
    """The region of a cluster, and the profile with the credentials, by default those of AWS' default chain."""

    region: str
    profile: str = ""

    def to_option(self) -> str:
        """Return the value of librdkafka's ``sasl.oauthbearer.config``, which it hands to the callback for tokens."""
        return json.dumps({_MARK: self._asdict()})


def read_msk_login(option: str) -> MskLogin | None:
    """Return the login in the value of ``sasl.oauthbearer.config``; None for any other value.

    >>> read_msk_login(MskLogin("eu-west-1", "prod").to_option())
    MskLogin(region='eu-west-1', profile='prod')
    """
    try:
        return MskLogin(**json.loads(option)[_MARK])
    except (ValueError, TypeError, LookupError):
        return None
