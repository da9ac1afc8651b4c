"""A submission, or a file of settings, as text that our own strict reader takes back as it was."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from robust_kbench.registry import SUBMISSION_FILE
from robust_kbench.schema.documents import printable
from robust_kbench.schema.submission import Submission

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./ ()-]*")
_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Puts every text into quotes that is not plainly one: `1e-6` is a number to some readers. Writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", printable(text), style=style)


_Dumper.add_representer(str, _represent)


def to_yaml(data: Mapping[str, Any]) -> str:
    """Keys in their order; `schema.documents.read_yaml` reads the same, as long as it is not too large for it."""
    return str(yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))


def write(submission: Submission, folder: Path) -> None:
    """Make `folder` hold the submission and nothing else. Who is killed meanwhile leaves no half of one behind."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, text in submission.sources.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).write_text(text, encoding="utf-8", errors="replace", newline="")
    header = to_yaml(submission.file.model_dump(mode="json", exclude_defaults=True))
    (fresh / SUBMISSION_FILE).write_text(header, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
