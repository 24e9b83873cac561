"""Offset Sync: consumer offsets of several Kafka clusters, translated into each other exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offset_sync.jobs.translate import translate_offsets as translate_offsets

__all__ = ["__version__", "translate_offsets"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is: most of the package needs neither Spark nor a Kafka client."""
    if name == "translate_offsets":
        from offset_sync.jobs.translate import translate_offsets

        return translate_offsets
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
