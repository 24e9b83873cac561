"""What the Python consumer logs, in a file, with the words of Java's levels."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def logging_to(log: Path) -> Iterator[None]:
    """Write what it logs meanwhile to the file *log*."""
    handler = logging.FileHandler(log)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("offset_sync_consumer")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()


class _Formatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace(" WARNING ", " WARN ", 1)
