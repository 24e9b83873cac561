"""The version of this package, which is the one of Offset Sync."""

__version__ = "0.1.0"
