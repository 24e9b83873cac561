"""What a job needs of Spark beyond its public interface: the door to the driver's JVM, and which versions will do.

``jvm`` and ``platform`` load pyspark; ``jvm_end`` and this file do not.
"""

CHECKPOINT_FORMAT = "v1"
"""The first line of a file in a query's checkpoint; ``ingest/checkpoint.py`` reads no other."""
