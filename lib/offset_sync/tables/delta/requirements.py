"""What this package needs of Spark, Delta and Kafka's client on the JVM's class path: versions, classes, methods.

The versions are those of setup.cfg and conf/jars/ivy.xml, and a test holds them together. The classes are all that
``tables/delta`` asks for and all that is called on them, held by a test as well. Much of it is no public interface of
Spark or Delta, so a version that these do not call incompatible may lack it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SPARK = "4.2.0"
DELTA = "4.4.0"
KAFKA_CLIENTS = "3.9.2"
CHECKPOINT_FORMAT = "v1"
"""The first line of a file in a query's checkpoint; ``ingest/checkpoint.py`` reads no other."""


@dataclass(frozen=True)
class Part:
    """One jar: the *version* that this was built with, and its classes with the members that are used.

    "" as version: not compared, for what Spark itself may bring in another one. The first class tells which version is
    there. A member is written as ``commit/2``, a method with two arguments, or ``MODULE$``, a field; a constructor has
    the name of its class.
    """

    jar: str
    version: str
    classes: Mapping[str, str] = field(repr=False)


_CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
_DELTA = "org.apache.spark.sql.delta"
_ADMIN, _JACKSON = "org.apache.kafka.clients.admin", "com.fasterxml.jackson"
REQUIRED = (
    Part("spark-core", SPARK, {"org.apache.spark.rdd.RDD": "unpersist/1"}),
    Part(
        "spark-sql",
        SPARK,
        {
            f"{_CHECKPOINTING}.OffsetSeqLog$": "MODULE$ VERSION/0",
            "org.apache.spark.sql.classic.Dataset": "queryExecution/0",
            "org.apache.spark.sql.execution.LogicalRDD": "rdd/0",
            "org.apache.spark.sql.execution.QueryExecution": "logical/0",
            "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution": "",
        },
    ),
    Part(
        "log4j-core",
        "",
        {"org.apache.logging.log4j.core.config.Configurator": "setLevel/2", "org.apache.logging.log4j.Level": "OFF"},
    ),
    Part("spark-sql-kafka-0-10", SPARK, {"org.apache.spark.sql.kafka010.KafkaSourceProvider": ""}),
    Part("spark-token-provider-kafka-0-10", "", {"org.apache.spark.kafka010.KafkaTokenUtil": ""}),
    Part(
        "kafka-clients",
        KAFKA_CLIENTS,
        {
            "org.apache.kafka.clients.consumer.KafkaConsumer": "",
            f"{_ADMIN}.Admin": "close/1 create/1 listConsumerGroupOffsets/2",
            f"{_ADMIN}.ListConsumerGroupOffsetsOptions": (
                "ListConsumerGroupOffsetsOptions/0 requireStable/1 timeoutMs/1"
            ),
            f"{_ADMIN}.ListConsumerGroupOffsetsResult": "all/0 partitionsToOffsetAndMetadata/1",
            f"{_ADMIN}.ListConsumerGroupOffsetsSpec": "",
            "org.apache.kafka.common.KafkaFuture": "get/0 get/2 isCompletedExceptionally/0 isDone/0",
        },
    ),
    Part(
        "jackson-databind",
        "",
        {
            f"{_JACKSON}.databind.ObjectMapper": (
                "ObjectMapper/0 getTypeFactory/0 readValue/2 setVisibility/2 writeValueAsString/1"
            ),
            f"{_JACKSON}.databind.type.TypeFactory": "constructMapType/3",
            f"{_JACKSON}.annotation.PropertyAccessor": "FIELD",
            f"{_JACKSON}.annotation.JsonAutoDetect$Visibility": "ANY",
        },
    ),
    Part("commons-pool2", "", {"org.apache.commons.pool2.impl.GenericKeyedObjectPool": ""}),
    Part("lz4-java", "", {"net.jpountz.lz4.LZ4Factory": ""}),
    Part(
        "delta-spark",
        DELTA,
        {"io.delta.sql.DeltaSparkSessionExtension": "", f"{_DELTA}.catalog.DeltaCatalog": "", f"{_DELTA}.DeltaLog": ""},
    ),
    Part("delta-storage", DELTA, {"io.delta.storage.LogStore": "", "io.delta.storage.LocalLogStore": ""}),
    Part("scala-parallel-collections", "", {"scala.collection.parallel.ForkJoinTaskSupport": ""}),
)
"""Of every job."""
