"""A class path in memory: every class and version that is required, until a test takes one away."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from offset_sync.tables.delta.requirements import CHECKPOINT_FORMAT, Part


class FakeClassPath:
    """What :class:`DriverClasses` tells of a real one."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.members = {name: set(each.split()) for part in parts for name, each in part.classes.items()}
        self.jars = {name: part.jar for part in parts for name in part.classes}
        self.versions = {part.jar: part.version for part in parts}
        self.format = CHECKPOINT_FORMAT

    def without_jar(self, jar: str) -> None:
        """Leave out a jar with all of its classes."""
        for name in [name for name, each in self.jars.items() if each == jar]:
            del self.members[name]

    def missing(self, name: str, members: Collection[str] = ()) -> list[str]:
        """Return what is missing, as Java would say it."""
        if name not in self.members:
            raise LookupError(f"java.lang.ClassNotFoundException: {name}")
        return sorted(set(members) - self.members[name])

    def version(self, name: str) -> str:
        """Return the version of a class's jar."""
        return self.versions[self.jars[name]]

    def jar(self, name: str) -> str:
        """Return the path of a class's jar."""
        jar = self.jars[name]
        return f"/jars/{jar}-{self.versions[jar]}.jar"

    def checkpoint_format(self) -> str:
        """Return what Spark would write."""
        return self.format
