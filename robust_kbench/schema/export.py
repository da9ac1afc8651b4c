"""The JSON Schemas of the three file formats, for editors and for other programs."""

from __future__ import annotations

from typing import Any

from robust_kbench.schema.documents import Strict
from robust_kbench.schema.record import RunRecord
from robust_kbench.schema.submission import SubmissionFile
from robust_kbench.schema.task import Task

SCHEMAS: dict[str, type[Strict]] = {"task": Task, "submission": SubmissionFile, "record": RunRecord}


def json_schema(name: str) -> dict[str, Any]:
    """Return the schema of `task` (task.yaml), `submission` (submission.yaml) or `record` (a line of a store)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name].model_json_schema()}
