"""Offset Sync: consumer offsets of several Kafka clusters, translated into each other exactly."""

__version__ = "0.1.0"
