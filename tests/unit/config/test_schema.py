"""The JSON Schema takes what the program takes, and shows most of what it refuses; the files in conf/ fit both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from builders.configurations import clusters, parsed, problems
from config_schema import CHART, REFERENCE, REPO, SCHEMA, chart_with, config_schema
from offset_sync.config import load_config, parse_config
from offset_sync.config.load import read_yaml
from tools.golden_output import expect

CHECK = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
CLUSTERS = clusters("dc1", "dc2")
TAKEN: list[dict[str, Any]] = [
    {},
    {"sync": {"hole_grace": 7, "home_silence": "7", "refresh_interval": "2d", "index_memory": "1GiB"}},
    {"metrics": {"sync_offsets_port": False, "report_status_port": "9"}, "sync": {"max_commits_per_second": False}},
    {"metrics": {"sync_offsets_port": "${PORT}"}, "index": {"starting": "${START}", "max_offsets_per_trigger": "${N}"}},
    {"directions": [["dc1", "dc2"]], "topics": {"include": ["a"], "overrides": [{"topics": ["b"], "strategy": False}]}},
    {"clusters": CLUSTERS | {"dc3": {"kafka": {"bootstrap.servers": "c:1", "x": 1, "y": True}, "commits": "admin"}}},
]
ENVIRONMENT = {"PORT": "9470", "START": "latest", "N": "5"}


def test_the_schemas_are_those_of_the_model() -> None:
    assert json.loads(SCHEMA.read_text()) == config_schema(), "run make docs"
    text = CHART.read_text()
    assert chart_with(config_schema(), text) == text, "run make docs"


@pytest.mark.parametrize("sections", TAKEN)
def test_what_the_program_takes_the_schema_takes(sections: dict[str, Any]) -> None:
    parsed(ENVIRONMENT, **sections)
    CHECK.validate({"clusters": CLUSTERS, "topics": {"include": ["orders"]}, **sections})


@pytest.mark.parametrize("name", ["reference", "two-clusters", "active-active"])
def test_the_files_in_conf_name_the_schema_and_fit_it(name: str) -> None:
    path = Path(REPO, "conf", f"{name}.yaml")
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")
    CHECK.validate(read_yaml(path.read_bytes()))
    load_config(path, {})


def test_the_reference_says_the_same_as_a_file_that_leaves_all_of_it_out() -> None:
    tree = yaml.safe_load(REFERENCE.read_text())
    least = {"clusters": tree["clusters"], "topics": {"include": tree["topics"]["include"]}}
    assert parse_config(least, {}) == load_config(REFERENCE, {})


CANARY = "c4n4ry"
CASES = """
# Keys and values
{tabels: {}, sync: {triggerInterval: 1, hole_grace: soon, deletes: ignore}}
{index: {zzz: 1}}
{topics: {include: [a], overrides: [{topics: [a], stategy: off, strategy: 'off'}, {}]}}
{topics: {}}
{topics: {include: orders}}
{topics: {include: []}}
{topics: {include: [7], strategy: exakt}}
{sync: null}
{index: {starting: null}}
{index: {starting: now, max_offsets_per_trigger: 9223372036854775808}}
{index: {max_offsets_per_trigger: 0}, sync: {max_commits_per_second: 1.5}}
{index: {max_offsets_per_trigger: true}}
{tables: {root: ''}}
{tables: {root: x, checkpoints: ./x/}}
{sync: {hole_grace: 1.5s, trigger_interval: -1, refresh_interval: 1w, home_silence: true, poll_interval: []}}
{sync: {reconcile_interval: 0s, refresh_interval: 0s}}
{sync: {index_memory: 512 bananas}}
{sync: {index_memory: 15MiB}}
{metrics: {sync_offsets_port: true, report_status_port: 65536}}
{metrics: {sync_offsets_port: http, report_status_port: -1}}
# Clusters and directions
{clusters: []}
{clusters: {dc1: {kafka: {bootstrap.servers: 'a:1'}}}}
{clusters: {a b: {kafka: {bootstrap.servers: 'a:1'}}, dc2: null}}
{dc1: {orgin: x}}
{dc1: {origin: 1}}
{dc1: {origin: dc2}}
{dc1: {kafka: []}}
{directions: []}
{directions: some}
{directions: [[dc1]]}
{directions: [[dc1, dc3], [dc1, dc1]]}
{dc1: {commits: admin}, sync: {home_silence: 9s, poll_interval: 5s}}
# The mirror
{mirror: {offset_header: IDC}}
{mirror: {offset_header: '', flows: '', offset_encoding: utf8, identity: contents}}
{mirror: {place_header: Offset}}
{mirror: {names: mm3}}
{mirror: {preset: redpanda}}
{mirror: {preset: redpanda-migrator}, more: [dc3]}
{mirror: {names: mm2, separator: /}}
{mirror: {names: mm2}, dc1: {mirror_alias: a}, dc2: {mirror_alias: a.b}}
{mirror: {names: mm2}, dc1: {mirror_alias: __a}, dc2: {mirror_alias: a}}
# What was removed
{topics: {include: [a], strategy: identity}}
{mirror: {identity: fingerprint, names: [{topic: '${X}'}]}}
# Patterns
{topics: {include: [a], exclude: ['(', 'a{99999999999}', '']}}
{topics: {include: ['a\\Z', '(a)\\1', '(?P<n>a)', '(?x)a', '[\\b]a', '[[a]', '[a&&b]']}}
{topics: {include: ['a{,2}', '(a)(?(1)b|c)', '[^]a]']}}
# Options of clients
{dc1: {kafka: {group.id: x, isolation.level: x, enable.auto.commit: x}}}
{dc1: {spark: {interceptor.classes: x, startingOffsets: x, subscribe: x, kafka.ssl.protocol: x}}}
{dc1: {admin: {bootstrap.servers: 'c:3', transactional.id: x}}}
{dc1: {kafka: {bootstrap.servers: ''}}}
{dc1: {kafka: {bootstrap.servers: 'a:1 b:65536,'}}}
{dc1: {kafka: {bootstrap.servers: 9092, client.id: [1], debug: null}}}
{dc1: {kafka: {client.id: '${'}}}
{dc1: {kafka: {client.id: '${file:/no/such/file}'}}}
{dc1: {kafka: {client.id: '${A}'}}, sync: {hole_grace: '${B}'}}
# Security
{dc1: {security: {protocol: SASL_SSL, username: u}}}
{dc1: {security: {protocol: SASL_PLAINTEXT, password: c4n4ry, ca: /ca}}}
{dc1: {security: {username: u, ca: /ca}}}
{dc1: {security: {protocol: SSL, password: c4n4ry, key: c4n4ry}}}
{dc1: {security: {protocol: TLS, protcol: SSL}}}
{dc1: {security: {protocol: SASL_SSL, username: u, password: c4n4ry, mechanism: OAUTHBEARER}}}
{dc1: {security: {protocol: SASL_SSL, username: u, password: c4n4ry, token_endpoint: x, scope: kafka, region: x}}}
{dc1: {security: {protocol: SASL_SSL, mechanism: AWS_MSK_IAM, username: u, password: c4n4ry}}}
{dc1: {security: {protocol: SSL, profile: prod, principal: s@R, keytab: /k}}}
{dc1: {security: {protocol: SASL_SSL, mechanism: GSSAPI, username: u}}}
# Logins in the maps of options
{dc1: {kafka: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u, sasl.password: c4n4ry}}}
{dc1: {spark: {sasl.jaas.config: c4n4ry, sasl.client.callback.handler.class: x, ssl.truststore.location: x}}}
{dc1: {spark: {ssl.keystore.location: x, ssl.key.password: c4n4ry, sasl.kerberos.service.name: x}}}
{dc1: {admin: {ssl.ca.location: x, ssl.certificate.pem: x, ssl.key.pem: c4n4ry, sasl.oauthbearer.config: c4n4ry}}}
{dc1: {admin: {sasl.oauthbearer.client.id: x, sasl.oauthbearer.token.endpoint.url: x, sasl.oauthbearer.scope: x}}}
{dc1: {admin: {sasl.kerberos.principal: x, sasl.kerberos.keytab: x}}, sync: {deletes: keep}, topics: {}}
"""


def sections_of(case: str) -> dict[str, Any]:
    """Return the sections of a case, with what it says of dc1 and dc2 among the clusters, and *more* of these."""
    sections: dict[str, Any] = yaml.safe_load(case)
    known = clusters("dc1", "dc2", *sections.pop("more", []))
    changes = {alias: sections.pop(alias, {}) for alias in known}
    for alias, change in changes.items():
        kafka = change.get("kafka", {})
        both = {**known[alias]["kafka"], **kafka} if isinstance(kafka, dict) else kafka
        known[alias] = {**known[alias], **change, "kafka": both}
    return {"clusters": known, **sections}


def test_what_is_wrong_is_said_at_once_with_path_and_remedy_and_no_secret() -> None:
    lines = list[str]()
    for case in CASES.strip().splitlines():
        found = [] if case.startswith("#") else problems(**sections_of(case))
        lines += [case, *(f"  {each}" for each in found)]
    assert [line for line in lines if line.startswith("  ") and CANARY in line] == []
    expect("config.txt", "\n".join(lines))
