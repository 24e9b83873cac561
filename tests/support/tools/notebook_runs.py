"""Notebooks as a user runs them, with what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
PLOTLY = "application/vnd.plotly.v1+json"


def run(name: str, **parameters: Any) -> dict[str, Any]:
    """Run a notebook with these parameters; return the texts and the pictures that it shows, by kind, in order."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    (place,) = [n for n, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    lines = [f"{key} = {value!r}" for key, value in parameters.items()]
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell("\n".join(lines)))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output.data for output in outputs if output.output_type in ("display_data", "execute_result")]
    return {
        "said": "".join(output.text for output in outputs if output.get("name") == "stdout"),
        "complaints": [output for output in outputs if output.get("name") == "stderr"],
        "tables": [data["text/html"] for data in shown if PLOTLY not in data and "text/html" in data],
        "pictures": [data[PLOTLY] for data in shown if PLOTLY in data],
    }
