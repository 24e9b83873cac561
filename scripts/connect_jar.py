"""Build dist/offset-sync-connect-VERSION.jar, the transform for Kafka Connect, of connect/src. Standard library only.

For Java 11: Connect 3.x runs on that.
"""

from __future__ import annotations

from pathlib import Path

from java_jar import REPO, JavaPart

SERVICES = "META-INF/services/org.apache.kafka.connect.transforms.Transformation"
# Raw types are what Janino needs.
PART = JavaPart(
    title="Connect",
    name="offset-sync-connect",
    release=11,
    lint="all,-rawtypes,-unchecked,-options",
    known=("connect-api", "kafka-clients", "slf4j-api"),
)
_SOURCES = REPO / "connect" / "src"


def build_jar(folder: Path) -> Path:
    """Compile the transform and write its jar into *folder*, in place of any other one there; return it.

    With ``plugin.discovery=service_load`` a worker finds the classes by an entry of their own. Raises SystemExit where
    it cannot be made, with the remedy.
    """
    classes = PART.compile(_SOURCES)
    transforms = [name.removesuffix(".class").replace("/", ".") + "\n" for name in sorted(classes) if "$" not in name]
    return PART.write(folder, {**classes, SERVICES: "".join(transforms).encode()})


if __name__ == "__main__":
    print(build_jar(REPO / "dist"))
