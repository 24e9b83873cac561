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
_KERNEL = "io.delta.kernel"
_ADMIN, _JACKSON = "org.apache.kafka.clients.admin", "com.fasterxml.jackson"
REQUIRED = (
    Part("spark-core", SPARK, {"org.apache.spark.api.java.JavaSparkContext": "hadoopConfiguration/0"}),
    Part(
        "spark-sql",
        SPARK,
        {
            f"{_CHECKPOINTING}.CheckpointFileManager": "create/2 createAtomic/2",
            f"{_CHECKPOINTING}.CheckpointFileManager$CancellableFSDataOutputStream": "cancel/0",
            f"{_CHECKPOINTING}.OffsetSeqLog$": "MODULE$ VERSION/0",
            "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution": "",
        },
    ),
    Part(
        "hadoop-client-api",
        "",
        {
            "org.apache.hadoop.conf.Configuration": "Configuration/1 get/1 set/2",
            "org.apache.hadoop.fs.RawLocalFileSystem": "",
            "org.apache.hadoop.fs.Path": "Path/1 getFileSystem/1 getName/0 getParent/0",
            "org.apache.hadoop.fs.FileSystem": (
                "copyFromLocalFile/4 copyToLocalFile/4 create/2 createFile/1 delete/2 exists/1 getContentSummary/1 "
                "getFileStatus/1 getDefaultUri/1 listFiles/2 listStatus/1 makeQualified/1 mkdirs/1 open/1"
            ),
            "org.apache.hadoop.fs.FSDataOutputStreamBuilder": "build/0 must/2 overwrite/1 recursive/0",
            "org.apache.hadoop.fs.FileAlreadyExistsException": "",
            "org.apache.hadoop.fs.PathIOException": "",
            "org.apache.hadoop.fs.FileStatus": "getModificationTime/0 getPath/0 isFile/0",
            "org.apache.hadoop.fs.ContentSummary": "getFileCount/0",
            "org.apache.hadoop.fs.RemoteIterator": "hasNext/0 next/0",
        },
    ),
    Part("commons-io", "", {"org.apache.commons.io.IOUtils": "toString/2"}),
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
    Part(
        "delta-kernel-api",
        DELTA,
        {
            f"{_KERNEL}.Table": "forPath/2 getLatestSnapshot/1",
            f"{_KERNEL}.Snapshot": "buildUpdateTableTransaction/2 getScanBuilder/0 getSchema/0 getVersion/0",
            f"{_KERNEL}.types.StructType": "fieldNames/0",
            f"{_KERNEL}.Operation": "WRITE",
            f"{_KERNEL}.transaction.UpdateTableTransactionBuilder": "build/1 withMaxRetries/1 withTransactionId/2",
            f"{_KERNEL}.Transaction": (
                "commit/2 generateAppendActions/4 getSchema/1 getTransactionState/1 getWriteContext/3"
            ),
            f"{_KERNEL}.TransactionCommitResult": "getPostCommitHooks/0 getPostCommitSnapshot/0 getVersion/0",
            f"{_KERNEL}.hook.PostCommitHook": "getType/0 threadSafeInvoke/1",
            f"{_KERNEL}.ScanBuilder": "build/0",
            f"{_KERNEL}.Scan": "getScanFiles/1",
            f"{_KERNEL}.data.Row": "getStruct/1",
            f"{_KERNEL}.statistics.DataFileStatistics": "deserializeFromJson/2",
            f"{_KERNEL}.utils.DataFileStatus": "DataFileStatus/4",
            f"{_KERNEL}.utils.CloseableIterable": "inMemoryIterable/1",
            f"{_KERNEL}.utils.CloseableIterator": "close/0 combine/1 hasNext/0 next/0",
            f"{_KERNEL}.internal.util.Utils": "intoRows/1 toCloseableIterator/1",
            f"{_KERNEL}.utils.FileStatus": "getPath/0 getSize/0",
            f"{_KERNEL}.internal.InternalScanFileUtils": (
                "ADD_FILE_ORDINAL getAddFileStatus/1 getDeletionVectorDescriptorFromRow/1"
            ),
            f"{_KERNEL}.internal.actions.AddFile": "AddFile/1 toRemoveFileRow/2",
            f"{_KERNEL}.internal.actions.SingleAction": "createRemoveFileSingleAction/1",
            f"{_KERNEL}.exceptions.ConcurrentTransactionException": "",
            f"{_KERNEL}.exceptions.MaxCommitRetryLimitReachedException": "",
            f"{_KERNEL}.exceptions.MetadataChangedException": "",
            f"{_KERNEL}.exceptions.ProtocolChangedException": "",
        },
    ),
    Part("delta-kernel-defaults", DELTA, {f"{_KERNEL}.defaults.engine.DefaultEngine": "create/1"}),
    Part("delta-kernel-unitycatalog", DELTA, {f"{_KERNEL}.unitycatalog.UCCatalogManagedClient": ""}),
    Part("unitycatalog-client", "", {"io.unitycatalog.client.ApiClientBuilder": ""}),
    Part("unitycatalog-hadoop", "", {"io.unitycatalog.hadoop.internal.CredPropsUtil": ""}),
    Part("scala-parallel-collections", "", {"scala.collection.parallel.ForkJoinTaskSupport": ""}),
)
"""Of every job."""
REQUIRED_BY_MAINTENANCE = (
    Part("spark-core", "", {"org.apache.spark.rdd.RDD": "unpersist/1"}),
    Part(
        "spark-sql",
        "",
        {
            "org.apache.spark.sql.classic.Dataset": "queryExecution/0",
            "org.apache.spark.sql.execution.LogicalRDD": "rdd/0",
            "org.apache.spark.sql.execution.QueryExecution": "logical/0",
        },
    ),
    Part(
        "delta-spark",
        "",
        {
            f"{_DELTA}.DeltaLog": "cleanUpExpiredLogs/4 createDataFrame/4 forTable/2 startTransaction/2 update/3",
            f"{_DELTA}.OptimisticTransaction": "commit/2 snapshot/0 writeFiles/1",
            f"{_DELTA}.Snapshot": "allFiles/0 schema/0 version/0",
            f"{_DELTA}.actions.Action": "fromJson/1",
            f"{_DELTA}.actions.AddFile": (
                "deletionVector/0 modificationTime/0 numPhysicalRecords/0 path/0 removeWithTimestamp/2 size/0 stats/0"
            ),
            f"{_DELTA}.DeltaOperations$ManualUpdate$": "MODULE$",
            f"{_DELTA}.TruncationGranularity": "MINUTE/0",
        },
    ),
    Part("scala-library", "", {"scala.Option": "get/0 isEmpty/0"}),
)
"""Besides, of whoever has tasks write the files of a table: maintain_tables, and index_records for large micro-batches.

To look at all methods of these large classes takes half a second.
"""
