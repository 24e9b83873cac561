"""What the documents name is there, and what there is (tables, alerts, reasons) has its place in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from offset_sync.config.load import parse_config
from offset_sync.model.reasons import Reason
from offset_sync.model.values import State
from protections import of_invariants
from spark_options import split_options
from tools.job_arguments import arguments_of
from tools.lock_order import LIB
from tools.mirror_steps import WAYS, configuration_tree
from write_docs import COMMAND, PAGE, with_written_parts

REPO = Path(__file__).resolve().parents[3]
PAGES = [*sorted(REPO.glob("*.md")), *sorted((REPO / "docs").rglob("*.md"))]
DESIGN = (REPO / "docs" / "design.md").read_text()
FOLDERS = "benchmarks|conf|connect|deploy|docs|jobs|lib|notebooks|scripts|tests"
ROOMS = sorted(path.name for path in LIB.iterdir() if (path / "__init__.py").exists())
TEST_FOLDERS = "unit|spark|broker|browser"
MAKEFILE = (REPO / "Makefile").read_text()
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's titles, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text()))
    return [link for link in found if not re.match(r"https?://", link)]


def named_paths(text: str) -> set[str]:
    """Return the paths that begin with a folder of the project, of the package or of the tests, at any place."""
    found = re.findall(rf"(?<![\w./-])(?:{FOLDERS}|{'|'.join(ROOMS)}|{TEST_FOLDERS})/[\w./*-]*\w", text)
    return {path for path in found if "*" not in path}


def is_there(path: str) -> bool:
    return any((folder / path).exists() for folder in (REPO, LIB, REPO / "tests"))


def items(text: str) -> list[str]:
    """Return the items of the lists in *text*, each as one line."""
    found = re.findall(r"^(?:-|\d+\.) (.*(?:\n +.*)*)", text, re.MULTILINE)
    return [re.sub(r"\s+", " ", item) for item in found]


def commands() -> Iterator[tuple[str, str]]:
    """Yield page and words of every command for spark-submit.sh, with the lines that belong to it joined."""
    for page in PAGES:
        joined = page.read_text().replace("\\\n", " ")
        yield from ((page.name, line) for line in re.findall(r"\./spark-submit\.sh +([a-z_]+[^\n`;#>]*)", joined))


@pages
def test_every_link_leads_to_a_file_and_a_title_of_it(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


@pages
def test_every_path_that_is_named_exists(page: Path) -> None:
    assert [path for path in named_paths(page.read_text()) if not is_there(path)] == []


def test_every_invariant_has_a_protection() -> None:
    invariants = items(DESIGN.partition("## Invariants")[2].partition("\n## ")[0])
    assert [number for number, listed in of_invariants.BY_NUMBER.items() if listed] == [*range(1, len(invariants) + 1)]


@pages
def test_every_target_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"(?:`|^ *)make ([a-z][a-z0-9-]*)", page.read_text(), re.MULTILINE)) <= targets


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_every_command_is_taken_by_its_job(page: str, line: str) -> None:
    job, *words = shlex.split(line)
    arguments = arguments_of(job, split_options(words).job)
    if job == "cutover" and arguments.action == "apply":
        assert arguments.planned or arguments.disaster


OPEN = ("clusters", "extensions")
"""Sections with names of the user's own, or of a package that the core does not know."""


@pages
def test_every_setting_that_is_named_exists(page: Path) -> None:
    tree = yaml.safe_load((REPO / "conf" / "reference.yaml").read_text())
    sections = "|".join(name for name, section in tree.items() if isinstance(section, dict) and name not in OPEN)
    named = re.findall(rf"`(?:-?)({sections})\.([a-z_]+)[`:]", page.read_text())
    assert [f"{section}.{name}" for section, name in named if name not in tree[section] and name != "py"] == []


TABLES = PAGE.read_text(encoding="utf-8")
TEXT = (REPO / "docs" / "operations.md").read_text()
RULES = yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
ALERTS = list(dict.fromkeys(rule["alert"] for rule in RULES))


def test_the_page_says_what_the_schemas_and_the_views_say() -> None:
    assert with_written_parts(TABLES) == TABLES, f"docs/tables.md is out of date: {COMMAND}"


def section(title: str) -> str:
    return re.split(r"^#+ ", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_alert_has_a_section_that_says_what_it_means_and_what_to_do() -> None:
    part = TEXT.partition("# Alerts and what to do\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (.*)$", part, re.MULTILINE) == ALERTS
    for title in ALERTS:
        said = re.findall(r"^- \*\*(.+?)\*\*: .{10,}", section(title), re.MULTILINE)
        assert said == ["It means", "Look at", "Do"], title


def test_every_rule_of_an_alert_and_its_cause_lead_to_that_section() -> None:
    for rule in RULES:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (page, anchor) == ("docs/operations.md", rule["alert"].lower())
        cause = rule["labels"].get("cause")
        assert cause is None or f'cause="{cause}"' in section(rule["alert"])


def test_every_reason_to_withhold_has_a_row_with_its_sentence() -> None:
    table = rows("Withheld, by reason")
    told = {state.name: Reason[state.name].sentence for state in State if state.is_withheld}
    assert {row[0]: row[1] for row in table} == told
    assert all(len(row) == 3 and all(row) for row in table)


def test_every_page_and_section_that_the_program_names_is_there() -> None:
    named = set[tuple[str, str]]()
    for path in LIB.parent.rglob("*.py"):
        text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
        named.update(re.findall(r"docs/([\w/-]+\.md)(?:, ([A-Z][\w' ]+\w))?", text))
    assert len(named) > 10
    for page, title in named:
        text = (REPO / "docs" / page).read_text()
        assert not title or re.search(rf"^#+ {title}$", text, re.MULTILINE), f"{page}, {title}"


def test_the_configurations_are_taken_and_differ_in_names_and_in_what_tells_copies() -> None:
    a, b, c = (parse_config(configuration_tree(way), {}) for way in WAYS)
    assert (a.names.is_same, b.names.is_same, c.names.is_same) == (True, False, False)
    assert (a.is_stamped, b.is_stamped, c.is_stamped) == (True, True, False)
    assert [each.mirror.place_header for each in (a, b, c)] == ["Place", "Place", ""]
