"""The JSON Schema of a configuration file, for editors and for Helm, written by ``make docs``.

Types are those of the model, texts and defaults those of ``conf/reference.yaml``. Errs to accepting: patterns, names of
clients' options and rules between values are checked by the program only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import TimedeltaSchema, WithDefaultSchema

from offset_sync.config import Config
from offset_sync.config.load import read_yaml

REPO = Path(__file__).resolve().parents[1]
REFERENCE = REPO / "conf" / "reference.yaml"
SCHEMA = REPO / "conf" / "schema.json"
CHART = REPO / "deploy" / "helm" / "offset-sync" / "values.schema.json"
_REFERENCE_TO = r"\$\{"
"""Any value may come from elsewhere, as ``${NAME}`` or ``${file:/path}``."""
_REQUIRED = ("clusters", "topics.include")
_OF_CHART = re.compile(r'(?<=^    "config": ).*(?=,$)', re.MULTILINE)
Schema = dict[str, Any]


class _Written(GenerateJsonSchema):
    """Durations as people write them, and no defaults: those of the reference are shown."""

    def default_schema(self, schema: WithDefaultSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def timedelta_schema(self, schema: TimedeltaSchema) -> Schema:
        return {"type": ["string", "integer"], "minimum": 0, "pattern": f"^[0-9]+(ms|s|m|h|d)?$|{_REFERENCE_TO}"}


def config_schema() -> Schema:
    """Return the schema of a whole file."""
    made = Config.model_json_schema(schema_generator=_Written)
    root = _plain(made, made["$defs"], "", dict(_texts()))
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Offset Sync", **root}


def chart_with(schema: Schema, chart: str) -> str:
    """Return the schema of the chart's values with that of a file in it; there the file may be given elsewhere."""
    section = {name: value for name, value in schema.items() if name not in ("$schema", "title", "required")}
    text = json.dumps(section, ensure_ascii=False)
    return _OF_CHART.sub(lambda _: text, chart)


def _plain(schema: Schema, known: Schema, path: str, texts: dict[str, str]) -> Schema:
    """Return *schema* without references to *known* ones, and with the texts of the reference for all below *path*."""
    schema = known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    left_out = ("$defs", "title", "description", "gt", "ge", "lt")
    made = {name: value for name, value in schema.items() if name not in left_out}
    made |= {"minimum": schema["gt"] + 1} if isinstance(schema.get("gt"), int) else {}  # else it is a duration
    if texts.get(path):
        made = {"description": texts[path], **made}
    if "properties" in made:
        made["properties"] = {
            name: _plain(value, known, f"{path}.{name}".lstrip("."), texts)
            for name, value in made["properties"].items()
        }
    for place, step in (("additionalProperties", ".*"), ("items", "[]")):
        if isinstance(made.get(place), dict):
            made[place] = _plain(made[place], known, path + step, texts)
    return _or_from_elsewhere(made)


def _or_from_elsewhere(schema: Schema) -> Schema:
    """Return *schema*, of a value that is no text, so that it also takes text that refers to one."""
    elsewhere = {"type": "string", "pattern": _REFERENCE_TO}
    if schema.get("type") == "integer":
        return schema | {"type": ["integer", "string"], "pattern": f"^[0-9]+$|{_REFERENCE_TO}"}
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], elsewhere]}
    if "enum" in schema or schema.get("type") == "boolean":
        text = schema.pop("description", None)
        return ({"description": text} if text else {}) | {"anyOf": [schema, elsewhere]}
    return schema


def _texts() -> Iterator[tuple[str, str]]:
    """Yield the path of each key in the reference, with the comment and the default; an alias is ``*``."""
    above: list[str] = []
    defaults = read_yaml(REFERENCE.read_bytes())
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"( *)([a-z_0-9.]+):", line):
            above[len(found[1]) // 2 :] = [found[2]]
            text, value = line.partition(" # ")[2].strip(), defaults
            for key in above:
                value = value.get(key) if isinstance(value, dict) else None
            path = re.sub(r"^clusters\.dc1", "clusters.*", ".".join(above))
            is_shown = not isinstance(value, (dict, type(None))) and path not in _REQUIRED
            yield path, text + (f" (default: {json.dumps(value)})" if is_shown else "")


def main() -> None:
    """Write both files."""
    schema = config_schema()
    SCHEMA.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    CHART.write_text(chart_with(schema, CHART.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
