"""The OpenAPI description is true: whatever is asked, the answer is one of those that it announces."""

import os
import re
import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast

import httpx
import pytest
from hypothesis import HealthCheck, settings
from server_rig import FAILS, HANGS, HELLO, Site, awaited, running, settings_for, submitted

from tradewind.server.app import application

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import CHECKS, load_all_checks

load_all_checks()

ENDLESS = r"^/api/v1(/runs/\{run\})?/events$"
"""These streams go on for ever; `test_server_events` listens to them."""
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
)


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server where something has happened."""
    with running(settings_for(tmp_path_factory.mktemp("lively"), rate=1e6, burst=10**6, failed_rate=1e6)) as site:
        client = site.client()
        awaited(client, submitted(client, HELLO)["id"])
        awaited(client, submitted(client, FAILS)["id"])
        submitted(client, HANGS)
        yield site


def _narrowed(description: dict[str, Any]) -> dict[str, Any]:
    """Let numbers be of things that may be there."""
    for path in description["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in ("task", "machine"):
                    parameter["schema"] = {"type": "integer", "minimum": 0, "maximum": 8}
                elif parameter["name"] == "attempt":
                    parameter["schema"] = {"enum": ["last", "1", "2", "x"]}
                elif parameter["name"] == "follow":
                    parameter["schema"] = {"enum": [False]}
    return description


EXAMPLES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 2
DESCRIPTION = application(cast("Any", None)).openapi()
schema = schemathesis.openapi.from_dict(_narrowed(deepcopy(DESCRIPTION))).exclude(path_regex=ENDLESS)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_announced(case: Any, lively: Site) -> None:
    parts = case.path_parameters
    if parts and len(str(parts.get("run", ""))) % 4 and case.method == "GET":
        runs = lively.client().get("/runs").json()["items"]
        parts["run"] = runs[len(str(parts)) % len(runs)]["id"]
    headers = {"Authorization": f"Bearer {lively.token}"}
    answer = case.call(base_url=lively.url, headers=headers)
    case.validate_response(answer, checks=CHECKS.get_by_names(CHECKED))


def test_every_operation_is_described(lively: Site) -> None:
    description = httpx.get(f"{lively.url}/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    assert description == DESCRIPTION
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation["description"] or operation["summary"], (method, path)
            if path.startswith("/api/"):
                assert {"401", "403", "422", "429", "500", "503"} <= operation["responses"].keys(), (method, path)
    references = set(re.findall(r"#/components/schemas/([^\"']+)", str(description)))
    assert references <= description["components"]["schemas"].keys()


def test_unknown_paths_and_methods_are_problems_too(lively: Site) -> None:
    client = lively.client()
    for answer, status in (
        (client.get("/nothing"), 404),
        (client.patch("/runs"), 405),
        (client.request("HEAD", "/runs"), 405),
        (client.get("/runs/a b"), 422),
        (client.get("/runs", params={"limit": 0}), 422),
        (client.put("/tenants/x", content=b"{", headers={"Content-Type": "application/json"}), 422),
    ):
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        if status != 405 or answer.content:
            assert answer.json()["status"] == status
