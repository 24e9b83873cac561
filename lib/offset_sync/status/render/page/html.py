"""One HTML file from a report: templates, data and scripts in one, locked against everything else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import timezone
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from offset_sync.model.text import visible
from offset_sync.status.health import find_notes, find_problems
from offset_sync.status.render.page.content import PageOptions, page_content
from offset_sync.status.report import Report

SCRIPTS = ("unpack", "show", "places", "overview", "rows", "details", "curves", "mirror_maker", "start")
"""The page's own scripts, in the order in which they are put into one function."""
_DEFAULTS = PageOptions()
_PLACEHOLDER = re.compile(r"@@([a-z_]+)@@")


def render_page(report: Report, options: PageOptions = _DEFAULTS) -> str:
    """Return the page, in UTF-8 without a carriage return.

    It loads nothing: a Content-Security-Policy allows only its own scripts, by their hashes, and no connection.
    """
    problems = find_problems(report.status, report.drift, options.limits)
    said = [*(problem.text for problem in problems), *find_notes(report.status, options.limits), *report.notes]
    content = page_content(report, problems, options)
    script, plotly = _script(), _file("plotly-basic.min.js")
    return _filled(
        _file("page.html"),
        {
            "policy": f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
            f"style-src 'unsafe-inline'; script-src {_source(script)} {_source(plotly)}",
            "title": escape(visible(options.title)),
            "style": _file("page.css"),
            "health": "bad" if problems else "good",
            "verdict": "✖ Not healthy" if problems else "✔ Healthy",
            "reported_at": f"{report.reported_at.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC",
            "problems": "".join(f"<li>{escape(each)}</li>" for each in said),
            "content": to_script_json(content),
            "script": script,
            "plotly": plotly,
        },
    )


def write_page(path: str | Path, html: str) -> None:
    """Put *html* at the local *path* in one step: a reader gets the old page or the new one, never a part.

    Its folder is made if need be. Raise OSError where it cannot be written; the old page is kept then.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".unfinished")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(html)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise


def to_script_json(value: Any) -> str:
    """Return *value* as JSON that is safe inside a script element, whatever its texts are: ASCII without < > &."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Return *template* with each ``@@name@@`` replaced once: what is put in is not searched again."""
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], template)


@cache
def _file(name: str) -> str:
    return (files("offset_sync.status.render.page") / "files" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _source(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
