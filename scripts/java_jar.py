"""Build a jar of Java sources that is the same, byte for byte, whenever it is built. Standard library only.

The same sources, javac and jars of Kafka give the same jar.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prerequisites import PrerequisiteMissing

REPO = Path(__file__).resolve().parent.parent
_JARS = REPO / "jars" / "broker"
QUICKLY = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xshare:auto")
"""The compiler ends before its own code is worth optimising."""
_SAME_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class JavaPart:
    """What is built: *title* in errors, *name* of the jar, *release* of Java, *known* jars of ``jars/broker``."""

    title: str
    name: str
    release: int
    lint: str
    known: Sequence[str]

    def find_javac(self) -> str:
        """Return the Java compiler, JAVA_HOME's if set, else the PATH's; raise where there is none."""
        home = os.environ.get("JAVA_HOME")
        javac = str(Path(home, "bin", "javac")) if home else shutil.which("javac")
        if javac is None or not os.access(javac, os.X_OK):
            raise PrerequisiteMissing(
                f"{self.title}: no javac {'in JAVA_HOME' if home else 'on the PATH'}; a Java without a compiler "
                "(JRE) is not enough; on Debian and Ubuntu: apt-get install openjdk-21-jdk-headless (or 17, or "
                "25); on macOS: brew install openjdk@21; where it is not the first on the PATH set JAVA_HOME"
            )
        return javac

    def compile(self, sources: Path) -> dict[str, bytes]:
        """Return the classes of *sources* by their name in a jar; SystemExit where they do not compile."""
        javac, known = self.find_javac(), self._known_jars()
        with tempfile.TemporaryDirectory(prefix="offset-sync-") as scratch:
            files = sorted(map(str, sources.rglob("*.java")))
            # There is no processor of annotations on this class path.
            checks = [f"-Xlint:{self.lint}", "-proc:none", "-Werror", "-encoding", "UTF-8", "-g"]
            words = ["--release", str(self.release), *checks, "-classpath", os.pathsep.join(known), "-d", scratch]
            command = [javac, *QUICKLY, *words, *files]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode:
                where = sources.relative_to(REPO) if sources.is_relative_to(REPO) else sources
                raise SystemExit(f"{self.title}: {javac} did not compile {where}:\n{done.stdout}{done.stderr}")
            found = Path(scratch).rglob("*.class")
            return {path.relative_to(scratch).as_posix(): path.read_bytes() for path in found}

    def write(self, folder: Path, entries: Mapping[str, bytes]) -> Path:
        """Write the jar with *entries*, manifest and license into *folder*, in place of any other one; return it."""
        folder.mkdir(parents=True, exist_ok=True)
        for former in folder.glob(f"{self.name}-*.jar"):
            former.unlink()
        jar = folder / f"{self.name}-{self.version()}.jar"
        everything = {**entries, **self._metadata()}
        # The manifest first, as jars want it, then the rest by name; not packed, as not every zlib packs alike.
        with zipfile.ZipFile(jar, "w") as archive:
            for name in sorted(everything, key=lambda name: (name != "META-INF/MANIFEST.MF", name)):
                archive.writestr(zipfile.ZipInfo(name, _SAME_DATE), everything[name])
        return jar

    def version(self) -> str:
        """Return the package's version, which is the jar's too."""
        text = (REPO / "lib" / "offset_sync" / "__init__.py").read_text(encoding="utf-8")
        found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
        if found is None:
            raise SystemExit(f"{self.title}: lib/offset_sync/__init__.py names no __version__")
        return found[1]

    def _known_jars(self) -> list[str]:
        found = {name: sorted(_JARS.glob(f"{name}-[0-9]*.jar")) for name in self.known}
        if missing := [name for name, jars in found.items() if not jars]:
            raise SystemExit(f"{self.title}: no {' and no '.join(missing)} in {_JARS}; run: make install")
        return [str(jar) for jars in found.values() for jar in jars]

    def _metadata(self) -> dict[str, bytes]:
        title, version = f"Implementation-Title: {self.name}", f"Implementation-Version: {self.version()}"
        return {
            "META-INF/MANIFEST.MF": f"Manifest-Version: 1.0\r\n{title}\r\n{version}\r\n\r\n".encode(),
            **{f"META-INF/{name}": (REPO / name).read_bytes() for name in ("LICENSE", "NOTICE")},
        }
