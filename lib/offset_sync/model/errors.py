"""One family of errors; each message names the place and the remedy."""

from __future__ import annotations


class OffsetSyncError(Exception):
    """Base of every error this package raises on purpose; *exit_code* is that of a job that ends by it."""

    exit_code = 1


class ConfigError(OffsetSyncError):
    """The configuration is wrong; *problems* holds one ``path: what is wrong; remedy`` line each."""

    exit_code = 2

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ClusterError(OffsetSyncError):
    """A Kafka cluster could not be reached or refused a request; *cluster* is its alias."""

    def __init__(self, cluster: str, message: str) -> None:
        super().__init__(f"clusters.{cluster}: {message}")
        self.cluster, self.message = cluster, message


class OtherClusterError(ClusterError):
    """The addresses of a cluster lead to another one than before: nothing that was read there counts."""


class TableError(OffsetSyncError):
    """A Delta table or checkpoint is unusable."""


class FormatError(TableError):
    """Tables or checkpoints are of a version with another format; the configuration has to name other places."""

    exit_code = 2


class UnknownVersionError(OffsetSyncError):
    """Brokers write records of a version that this program cannot decode; update it."""


class PlatformError(OffsetSyncError):
    """Spark, Delta, librdkafka or a package around them is not what this was built with; retrying does not help."""


class JvmEndedError(PlatformError):
    """The JVM exited before it answered any call."""


class TakenOverError(OffsetSyncError):
    """Another driver has claimed this driver's job; this one must stop writing and exit."""

    exit_code = 3
