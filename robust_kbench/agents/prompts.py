"""Prompts made of sections and a template: the texts that roles are asked. Templates are files of the package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from string import Template

from robust_kbench.agents import replies
from robust_kbench.agents.context import Block
from robust_kbench.agents.preset import Role

_NAME = re.compile(r"[a-z0-9_]+")


def render(role: Role, blocks: Sequence[Block], fence: str) -> str:
    """Render a prompt: the instruction of the role, all sections, and how to answer."""
    sections = [f"## {block.title}\n{block.text}" for block in blocks]
    return "\n\n".join([_filled(role.instruction, fence), *sections, _filled(f"answer_{role.answer}", fence)]) + "\n"


def look_again() -> str:
    """Return the question to a verifier after its first answer."""
    return _filled("look_again", "")


def _filled(name_or_text: str, fence: str) -> str:
    text = template(name_or_text) if _NAME.fullmatch(name_or_text) else name_or_text
    return Template(text).safe_substitute(fence=fence, begin=replies.BEGIN, end=replies.END).strip()


@lru_cache
def template(name: str) -> str:
    """Read a prompt's template, a file of the package."""
    return (resources.files("robust_kbench.agents") / "prompts" / f"{name}.md").read_text()
