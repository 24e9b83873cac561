"""What a job needs of Spark beyond its public interface: access to the driver's JVM, and the supported versions.

``jvm`` and ``platform`` load pyspark; ``jvm_end`` and this file do not.
"""

CHECKPOINT_FORMAT = "v1"
"""The first line of a file in a query's checkpoint; ``ingest/checkpoint.py`` reads only this format."""
