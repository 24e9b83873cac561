"""The versions of Spark, Delta and Kafka's client that this is built with; this file loads none of them."""

from __future__ import annotations

SPARK, DELTA, KAFKA_CLIENTS = "4.2.0", "4.4.0", "3.9.2"
"""The versions in setup.cfg and conf/jars/ivy.xml; a test compares them."""
OTHER_SPARKS = ("4.1",)
"""Minor versions of Spark with which tests/spark passed too, by the same Delta."""
