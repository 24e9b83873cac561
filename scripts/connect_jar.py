"""Build dist/offset-sync-connect-VERSION.jar, the transform for Kafka Connect, of connect/src. Standard library only.

By javac, for Java 11: Connect 3.x runs on that. The same sources, javac and jars of Kafka give the same jar, byte for
byte.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from prerequisites import PrerequisiteMissing

REPO = Path(__file__).resolve().parent.parent
NAME = "offset-sync-connect"
RELEASE = 11
SERVICES = "META-INF/services/org.apache.kafka.connect.transforms.Transformation"
_SOURCES = REPO / "connect" / "src"
_JARS = REPO / "jars" / "broker"
_KNOWN = ("connect-api", "kafka-clients", "slf4j-api")
_SAME_DATE = (1980, 1, 1, 0, 0, 0)


def build_jar(folder: Path) -> Path:
    """Compile the transform and write its jar into *folder*, in place of any other one there; return it.

    Raises SystemExit where it cannot be made, with the remedy.
    """
    javac, known = find_javac(), _known_jars()
    with tempfile.TemporaryDirectory(prefix="offset-sync-") as scratch:
        sources = sorted(map(str, _SOURCES.rglob("*.java")))
        # Raw types are what Janino needs; there is no processor of annotations on this class path.
        checks = ["-Xlint:all,-rawtypes,-unchecked,-options", "-proc:none", "-Werror", "-encoding", "UTF-8", "-g"]
        words = ["--release", str(RELEASE), *checks, "-classpath", os.pathsep.join(known), "-d", scratch, *sources]
        done = subprocess.run([javac, *words], capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            raise SystemExit(f"Connect: {javac} did not compile connect/src:\n{done.stdout}{done.stderr}")
        classes = {path.relative_to(scratch).as_posix(): path.read_bytes() for path in Path(scratch).rglob("*.class")}
    folder.mkdir(parents=True, exist_ok=True)
    for former in folder.glob(f"{NAME}-*.jar"):
        former.unlink()
    jar = folder / f"{NAME}-{version()}.jar"
    _write(jar, classes | _metadata(classes))
    return jar


def find_javac() -> str:
    """Return the Java compiler, JAVA_HOME's if set, else the PATH's; raise where there is none."""
    home = os.environ.get("JAVA_HOME")
    javac = str(Path(home, "bin", "javac")) if home else shutil.which("javac")
    if javac is None or not os.access(javac, os.X_OK):
        raise PrerequisiteMissing(
            f"Connect: there is no javac {'in JAVA_HOME' if home else 'on the PATH'}, a Java without a compiler (JRE) "
            "does not do; on Debian and Ubuntu: apt-get install openjdk-21-jdk-headless (or 17, or 25); on macOS: brew "
            "install openjdk@21; where it is not the first on the PATH set JAVA_HOME"
        )
    return javac


def version() -> str:
    """Return the package's version, which is the jar's too."""
    text = (REPO / "lib" / "offset_sync" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("Connect: lib/offset_sync/__init__.py names no __version__")
    return found[1]


def _known_jars() -> list[str]:
    found = {name: sorted(_JARS.glob(f"{name}-[0-9]*.jar")) for name in _KNOWN}
    if missing := [name for name, jars in found.items() if not jars]:
        raise SystemExit(f"Connect: no {' and no '.join(missing)} in {_JARS}; run: make install")
    return [str(jar) for jars in found.values() for jar in jars]


def _metadata(classes: dict[str, bytes]) -> dict[str, bytes]:
    """Return what a worker reads of the jar: its version, and with ``plugin.discovery=service_load`` its classes."""
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Title: {NAME}\r\nImplementation-Version: {version()}\r\n\r\n"
    transforms = [name.removesuffix(".class").replace("/", ".") + "\n" for name in sorted(classes) if "$" not in name]
    return {
        "META-INF/MANIFEST.MF": manifest.encode(),
        SERVICES: "".join(transforms).encode(),
        **{f"META-INF/{name}": (REPO / name).read_bytes() for name in ("LICENSE", "NOTICE")},
    }


def _write(jar: Path, entries: dict[str, bytes]) -> None:
    """Write the manifest first, as jars want it, then the rest by name; not packed, as not every zlib packs alike."""
    with zipfile.ZipFile(jar, "w") as archive:
        for name in sorted(entries, key=lambda name: (name != "META-INF/MANIFEST.MF", name)):
            archive.writestr(zipfile.ZipInfo(name, _SAME_DATE), entries[name])


if __name__ == "__main__":
    print(build_jar(REPO / "dist"))
