"""A submission cannot sign in the name of the host that judges it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernels import ANSWER, python

from robust_kbench import signing
from robust_kbench.evaluate import Evaluator
from robust_kbench.worker import landlock

if TYPE_CHECKING:
    from conftest import Submit

pytestmark = pytest.mark.skipif(not landlock.is_available(), reason="this machine has no landlock")


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    signing.keygen(signing.key_path())
    return signing.key_path()


@pytest.mark.parametrize("how", ["open({path!r}, 'rb').read()", "os.symlink({path!r}, 'link')\nopen('link').read()"])
def test_a_submission_cannot_open_the_key(evaluator: Evaluator, submit: Submit, key: Path, how: str) -> None:
    attempt = how.format(path=str(key))
    source = python(f"{attempt}\nreturn {ANSWER}")
    record = evaluator.evaluate(submit(source), tier="quick", seed=1, case=0)
    assert (record.status, "PermissionError" in record.reason) == ("crashed", True)
    assert signing.host_key() is not None


def test_no_environment_tells_a_submission_where_the_key_is(evaluator: Evaluator, submit: Submit, key: Path) -> None:
    source = python(f"assert 'XDG_CONFIG_HOME' not in os.environ\nreturn {ANSWER}")
    record = evaluator.evaluate(submit(source), tier="quick", seed=1, case=0)
    assert (record.status, record.reason) == ("passed", "")
