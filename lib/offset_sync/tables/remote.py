"""Whole files on object storage and HDFS, one request each: what delta-rs offers to nobody but itself.

S3, ABFS and GCS by obstore, HDFS by hdfs-native: the libraries that delta-rs is made of, so the same options and
environment are for both.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import hdfs_native
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

_CLIENT = ("allow_", "connect_timeout", "pool_", "proxy_", "timeout", "user_agent")
"""How options of the HTTP client begin; the others are of the storage."""
_store_at: Callable[..., Any] = from_url


class Objects:
    """The objects at *root*; what the storage refuses is an OSError."""

    def __init__(self, root: str, storage: Mapping[str, str]) -> None:
        named = {re.sub("^aws_(?=allow_http$)", "", name.lower()): value for name, value in storage.items()}
        client = {name: value for name, value in named.items() if name.startswith(_CLIENT)}
        with _os_errors():
            self._store = _store_at(root, config=dict(named.items() - client.items()), client_options=client)

    def read(self, path: str) -> bytes:
        """Return the content of a file; raises FileNotFoundError where there is none."""
        with _os_errors():
            return bytes(obstore.get(self._store, _below_root(path)).bytes())

    def put(self, path: str, content: bytes) -> None:
        """Write or replace a file, as a whole."""
        with _os_errors():
            obstore.put(self._store, _below_root(path), content)

    def put_new(self, path: str, content: bytes) -> bool:
        """Write a file as a whole if it is absent; return False where it is there."""
        with _os_errors(), suppress(AlreadyExistsError):
            obstore.put(self._store, _below_root(path), content, mode="create", use_multipart=False)
            return True
        return False


class Hdfs:
    """The same of HDFS: a file is written under a hidden name, which maintenance deletes if it is left there."""

    def __init__(self, root: str) -> None:
        self._client = hdfs_native.Client(root)

    def read(self, path: str) -> bytes:
        with self._client.read(f"/{_below_root(path)}") as file:
            return bytes(file.read())

    def put(self, path: str, content: bytes) -> None:
        self._client.rename(self._written(path, content), f"/{_below_root(path)}", overwrite=True)

    def put_new(self, path: str, content: bytes) -> bool:
        written = self._written(path, content)
        try:
            self._client.rename(written, f"/{_below_root(path)}")
        except FileExistsError:
            with suppress(OSError):
                self._client.delete(written)
            return False
        return True

    def _written(self, path: str, content: bytes) -> str:
        folder, _, name = f"/{_below_root(path)}".rpartition("/")
        written = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        with self._client.create(written) as file:
            file.write(content)
        return written


Remote: TypeAlias = "Objects | Hdfs"


def remote_of(root: str, storage: Mapping[str, str]) -> Remote:
    """Return the files of the storage at *root*, reached with the options *storage*."""
    return Hdfs(root) if root.startswith(("hdfs:", "viewfs:")) else Objects(root, storage)


def _below_root(path: str) -> str:
    return re.sub("/+", "/", path.partition("://")[2].partition("/")[2])


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except BaseError as problem:
        raise OSError(str(problem)) from problem
