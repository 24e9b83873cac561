"""Results of the benchmarks: one JSON file each in benchmarks/results, with what it takes to repeat them."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
_PACKAGES = ("pyspark", "delta-spark", "confluent-kafka", "numpy", "pyarrow")


def save(name: str, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the *rows* of benchmark *name* and print them."""
    found = {
        "benchmark": name,
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "settings": dict(settings),
        "machine": machine(),
        "versions": versions(),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "rows": list(rows),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))


def load(name: str) -> dict[str, Any] | None:
    """Return what was saved last, None if nothing was."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def machine() -> str:
    """Return processor, cores and memory in a line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    cores = sum(line.startswith("processor") for line in lines)
    total = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    return f"{cores} cores of {model}, {total:.0f} GiB, {platform.system()}"


def versions() -> dict[str, str]:
    """Return the versions that matter."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    found = {package: version(package) for package in _PACKAGES}
    return {"python": platform.python_version(), "java": java[0].split('"')[1] if java else "", **found}
