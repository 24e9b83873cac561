"""Whole files on object storage and HDFS, one request each: what delta-rs offers to nobody but itself.

S3, ABFS and GCS by obstore, HDFS by hdfs-native: the libraries that delta-rs is made of, so the same options and
environment are for both.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias

import hdfs_native
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

_CLIENT = ("allow_", "connect_timeout", "default_content", "http", "pool_", "proxy_", "randomize_", "timeout", "user_")
"""How options of the HTTP client begin; the others are of the storage."""
_store_at: Callable[..., Any] = from_url


class Objects:
    """The objects at *root*, paths are below it; what the storage refuses is an OSError."""

    def __init__(self, root: str, storage: Mapping[str, str]) -> None:
        given = {name: value for name, value in os.environ.items() if name == "AWS_ALLOW_HTTP"} | dict(storage)
        named = {re.sub("^aws_(?=allow_http$)", "", name.lower()): value for name, value in given.items()}
        client = {name: value for name, value in named.items() if name.startswith(_CLIENT)}
        with _os_errors():
            self._store = _store_at(root, config=dict(named.items() - client.items()), client_options=client)

    def read(self, path: str) -> bytes:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        with _os_errors():
            return bytes(obstore.get(self._store, path).bytes())

    def put(self, path: str, content: bytes, *, is_new: bool) -> bool:
        """Write a file as a whole, one that *is_new* only if it is absent; return False where it is there."""
        mode: Literal["create", "overwrite"] = "create" if is_new else "overwrite"
        with _os_errors(), suppress(AlreadyExistsError):
            obstore.put(self._store, path, content, mode=mode, use_multipart=False if is_new else None)
            return True
        return False


class Hdfs:
    """The same of HDFS: a file is written under a hidden name, which maintenance deletes where it is left."""

    def __init__(self, root: str) -> None:
        self._client = hdfs_native.Client(root)

    def read(self, path: str) -> bytes:
        with _os_errors(), self._client.read(f"/{path}") as file:
            return bytes(file.read())

    def put(self, path: str, content: bytes, *, is_new: bool) -> bool:
        place = f"/{path}"
        folder, _, name = place.rpartition("/")
        written = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        with _os_errors(), suppress(FileExistsError):
            with self._client.create(written) as file:
                file.write(content)
            self._client.rename(written, place, overwrite=not is_new)
            return True
        return False


Remote: TypeAlias = "Objects | Hdfs"


def remote_of(root: str, storage: Mapping[str, str]) -> Remote:
    """Return the files of the storage at *root*, reached with the options *storage*."""
    return Hdfs(root) if root.startswith(("hdfs:", "viewfs:")) else Objects(root, storage)


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except (BaseError, RuntimeError) as problem:  # hdfs-native has no errors of its own
        raise OSError(str(problem)) from problem
