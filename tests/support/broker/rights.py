"""The ACLs of real clusters: those of docs/operations.md, and exactly those that a test wants."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from broker.installation import until
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

REPO = Path(__file__).resolve().parents[3]
PRINCIPAL = "User:offset-sync"


def documented() -> list[list[str]]:
    """Return the words of each command that the documentation tells to run: those of its function, and its own."""
    text = (REPO / "docs" / "operations.md").read_text().replace("\\\n", " ")
    [of_all] = re.findall(r"^ +kafka-acls\.sh (.*) \"\$@\"$", text, re.MULTILINE)
    commands = re.findall(r"^allow (.*)$", text, re.MULTILINE)
    return [shlex.split(f"{of_all} {command}") for command in commands]


def right(
    kind: ResourceType, name: str, operation: AclOperation, pattern: ResourcePatternType = ResourcePatternType.LITERAL
) -> AclBinding:
    """Return what grants *operation* to the jobs."""
    return AclBinding(kind, name, pattern, PRINCIPAL, "*", operation, AclPermissionType.ALLOW)


def minimal_rights(commands: Iterable[list[str]] | None = None) -> set[AclBinding]:
    """Return what commands grant, by default all of the documentation."""
    return {_binding(words) for words in (documented() if commands is None else commands)}


def _binding(words: list[str]) -> AclBinding:
    given = dict(itertools.pairwise(words))
    kind = "topic" if "--topic" in given else "group"
    pattern = ResourcePatternType[given.get("--resource-pattern-type", "literal").upper()]
    operation = AclOperation[given["--operation"].upper()]
    return right(ResourceType[kind.upper()], given[f"--{kind}"], operation, pattern)


def rights(cluster: EmbeddedCluster) -> set[AclBinding]:
    """Return what the broker itself knows to be granted."""
    everything = (None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)
    admin = admin_of(cluster)  # held until the answer is there
    return set(admin.describe_acls(AclBindingFilter(ResourceType.ANY, *everything)).result(120))


def set_rights(cluster: EmbeddedCluster, wanted: set[AclBinding]) -> None:
    """Grant and take back until *wanted* is all there is, and return when the broker goes by it."""
    admin, present = admin_of(cluster), rights(cluster)
    changes = list(admin.create_acls(list(wanted - present)).values()) if wanted - present else []
    for acl in present - wanted:
        of_acl = (acl.name, acl.resource_pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
        changes += admin.delete_acls([AclBindingFilter(acl.restype, *of_acl)]).values()
    for future in changes:
        future.result(120)
    until(lambda: rights(cluster) == wanted, 60)
