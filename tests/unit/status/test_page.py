"""The page as text: what is embedded cannot break out, what is locked stays locked, a write is whole; its content."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from builders.status_rows import NO_DRIFT
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.status.page import render_page, to_script_json
from offset_sync.status.report import Report

LIB = Path(__file__).resolve().parents[3] / "lib"
PLOTLY = LIB / "offset_sync" / "status" / "page_files" / "plotly-basic.min.js"
CHANCE = random.Random(6)
HOSTILE = random_status(CHANCE, HOSTILE_NAMES, topics=HOSTILE_NAMES, partitions=2)
DRIFT = random_drift(CHANCE, HOSTILE_NAMES, reports=12, broken=HOSTILE_NAMES)


def page(status: Any = HOSTILE, drift: pa.Table = DRIFT, **options: Any) -> str:
    return render_page(Report(status, drift, REPORTED_AT), **options)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_in_a_script_element_says_the_same_and_ends_nothing(value: Any) -> None:
    text = to_script_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&\u2028\u2029") & set(text)


def test_the_page_has_its_own_elements_and_no_others_whatever_names_say() -> None:
    tags = re.compile(r"<(?:script|img|svg|iframe|style|link|meta)\b")
    without_plotly = page().replace(PLOTLY.read_text(encoding="utf-8"), "")
    calm = page(random_status(CHANCE, ["a"]), NO_DRIFT).replace(PLOTLY.read_text(), "")
    assert tags.findall(without_plotly) == tags.findall(calm)
    assert without_plotly.count("</script>") == 3
    assert "<!--" not in without_plotly


def test_the_policy_allows_these_scripts_and_no_connection() -> None:
    text = page()
    policy = html.unescape(re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    assert "connect-src" not in rules
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert "\r" not in text


def test_our_scripts_take_no_html_and_run_no_text() -> None:
    for path in PLOTLY.parent.glob("*.js"):
        if path != PLOTLY:
            found = re.findall(r"(?:inner|outer|Adjacent)HTML|\.write\(|\beval\b|Function\(|fetch\(", path.read_text())
            assert (path.name, found) == (path.name, [])


def test_plotly_is_the_release_that_was_looked_at() -> None:
    released = PLOTLY.read_bytes()
    assert released.startswith(b"/**\n* plotly.js (basic - minified) v4.1.1\n")
    assert hashlib.sha256(released).hexdigest() == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    assert (PLOTLY.parent / "plotly-basic.LICENSE").read_text().startswith("MIT License")
