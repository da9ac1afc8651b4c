"""Paths of all pages. Text of a record never becomes a name of a file: names are checked, or digests of ours."""

from __future__ import annotations

import hashlib
import json
import re

INDEX, AGENTS, REDTEAM, METHOD, PROBLEMS = "index.html", "agents.html", "redteam.html", "method.html", "problems.html"
TASKS, SUBMISSIONS, STATIC = "tasks", "submissions", "static"
PLOTLY, STYLE, SCRIPT, ROWS = "static/plotly.min.js", "static/site.css", "static/site.js", "static/rows.js"
_TASK = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*")
_MAX_TASK = 80


def is_task_name(name: str) -> bool:
    """Tell if a task can have this name; a record can say anything."""
    return len(name) <= _MAX_TASK and _TASK.fullmatch(name) is not None


def task_page(task: str) -> str:
    """Return the path of a task's page, relative to the site; empty if the name is not valid."""
    return f"{TASKS}/{task.replace('/', '-')}.html" if is_task_name(task) else ""


def submission_key(task: str, digest: str, device: str) -> str:
    """Return the key of a page: 16 hex digits that depend on its subject.

    The subject is one submission to one task on one device. The digits are the first of its sha256.
    """
    return hashlib.sha256(json.dumps([task, digest, device]).encode()).hexdigest()[:16]


def submission_page(key: str) -> str:
    """Return the path of a submission's page, relative to the site."""
    return f"{SUBMISSIONS}/{key}.html"
