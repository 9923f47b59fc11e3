"""The JSON Schema of forge.yaml, for editors: names, descriptions, choices, patterns, bounds.

It is made from the models, so it cannot say other than they do; rules between values are not in it.
An editor uses it through a first line `# yaml-language-server: $schema=<file>`.
"""

from __future__ import annotations

from typing import Any

from forge.spec.model import API_VERSION, Environment


def schema() -> dict[str, Any]:
    """The schema as a JSON-able mapping, draft 2020-12."""
    made = Environment.model_json_schema(by_alias=True, mode="validation")
    for shape in (made, *made.get("$defs", {}).values()):
        for part in shape.get("properties", {}).values():
            part.pop("title", None)  # `Auto Start` beside autoStart tells nobody anything
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://{API_VERSION}/environment.schema.json",
        **made,
        "title": "Praxis Forge environment",
    }
