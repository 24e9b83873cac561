"""The Helm chart, rendered by the real helm where it is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).resolve().parents[3]
CHART = REPO / "deploy" / "helm" / "offset-sync"
EXAMPLE = CHART.parent / "example.yaml"
_HELM = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
needs_helm = pytest.mark.skipif(_HELM is None, reason="no helm here: helm-binary is for Linux on x86_64 only")
Manifest = dict[str, Any]


def _helm(values: Manifest, *files: Path) -> subprocess.CompletedProcess[str]:
    """Render the chart with *files*, and *values* as one more of them."""
    assert _HELM is not None
    command = [_HELM, "template", "offset-sync", str(CHART), "--namespace", "syncing"]
    given = [word for file in (*files, "-") for word in ("-f", str(file))]
    text = yaml.safe_dump(values)
    return subprocess.run([*command, *given], input=text, capture_output=True, text=True, check=False, timeout=100)


def render(values: Manifest) -> dict[str, Manifest]:
    """Return kind and name -> document of the example with *values*."""
    return {f"{each['kind']} {each['metadata']['name']}": each for each in _rendered(yaml.safe_dump(values))}


@cache
def _rendered(values: str) -> list[Manifest]:
    done = _helm(yaml.safe_load(values), EXAMPLE)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def refusal(values: Manifest, *files: Path) -> str:
    """Return what helm says about *files* and *values*, which it refuses."""
    done = _helm(values, *files)
    assert done.returncode != 0
    return done.stderr
