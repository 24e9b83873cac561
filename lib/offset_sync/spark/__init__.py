"""What a job needs of Spark beyond its public interface: access to the driver's JVM, and the supported versions.

``jvm`` and ``platform`` load pyspark; all other files do not.
"""

JAVA_OPTIONS = {"index_records": "-XX:+UseParallelGC"}
"""By job. Millions of records that live for a moment: G1 spends twice the processor time on them."""

CHECKPOINT_FORMAT = "v1"
"""The first line of a file in a query's checkpoint; ``ingest/checkpoint.py`` reads only this format."""
