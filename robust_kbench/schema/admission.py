"""Result of the audit of an imported task: the content of an `admission.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from robust_kbench.schema.documents import Strict

Line = Annotated[str, Field(max_length=1000)]


class Admission(Strict):
    """Admission of a task that must tell right from wrong.

    A task without such a file is of the registry, whose tests audit it.
    """

    status: Literal["admitted", "not admitted"]
    reasons: tuple[Line, ...] = Field(default=(), description="why it was not admitted")
    non_answers: tuple[Line, ...] = Field(default=(), description="those that it accepts: dtype and name")
    notes: tuple[Line, ...] = Field(default=(), description="what the import decided")
    audit: Line = Field(default="", description="how much was tried")
    digest: str = Field(default="", description="of the task that was audited; another one has not been")
    kbench: str = Field(default="", description="version of kbench")

    def objection(self, digest: str) -> str:
        """Return the reason why the task of this digest is not admitted; empty if it is."""
        if self.status == "not admitted":
            return self.reasons[0] if self.reasons else "the audit refused it"
        return "" if digest == self.digest else "it was changed after its audit; import it again"
