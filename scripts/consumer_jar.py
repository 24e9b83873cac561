"""Build dist/offset-sync-consumer-VERSION.jar, the interceptor for consumers, of consumer/src. Standard library only.

For Java 8: kafka-clients before 4.0 run on that.
"""

from __future__ import annotations

from pathlib import Path

from java_jar import REPO, JavaPart

PART = JavaPart(
    title="Consumer",
    name="offset-sync-consumer",
    release=8,
    # Java 8 does not know what kafka-clients say of their deprecated methods, and is old itself.
    lint="all,-options,-classfile",
    known=("kafka-clients", "slf4j-api"),
)
_SOURCES = REPO / "consumer" / "src"


def build_jar(folder: Path) -> Path:
    """Compile the interceptor and write its jar into *folder*, in place of any other one there; return it.

    Raises SystemExit where it cannot be made, with the remedy.
    """
    return PART.write(folder, PART.compile(_SOURCES))


if __name__ == "__main__":
    print(build_jar(REPO / "dist"))
