"""A submission reads the files that a kernel needs, and none of the user's; neither does its compiler."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernels import ANSWER, CPP_ANSWER, native, python

import robust_kbench
from robust_kbench.evaluate import Evaluator
from robust_kbench.worker import landlock, readable

if TYPE_CHECKING:
    from conftest import Submit

pytestmark = pytest.mark.skipif(not landlock.is_available(), reason="this machine has no landlock")
SECRET = "the answer is forty-two"
PACKAGE = Path(robust_kbench.__file__).parent


def end(evaluator: Evaluator, submit: Submit, attempt: str) -> tuple[str, str]:
    """Run a kernel that computes the right answer after `attempt`; return its status and reason."""
    record = evaluator.evaluate(submit(python(f"{attempt}\nreturn {ANSWER}")), tier="quick", seed=1, case=0)
    return record.status.value, record.reason


def reading(path: Path | str) -> str:
    return f"open({str(path)!r}, 'rb').read(1)"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "a store of records",
        "its folder",
        "a link to it",
        "home",
        "the folder of temporary files",
        "the checkout",
        "init",
    ],
)
def test_what_is_the_users_cannot_be_read(evaluator: Evaluator, submit: Submit, secret: Path, name: str) -> None:
    attempts = {
        "a store of records": reading(secret),
        "its folder": f"os.listdir({str(secret.parent)!r})",
        "a link to it": f"os.symlink({str(secret)!r}, 'link')\n{reading('link')}",
        "home": f"os.listdir({os.path.expanduser('~')!r})",
        "the folder of temporary files": f"os.listdir({os.path.dirname(os.environ.get('TMPDIR', '/tmp/x'))!r})",
        "the checkout": f"os.listdir({str(PACKAGE.parent)!r})",
        "init": reading("/proc/1/environ"),
    }
    status, reason = end(evaluator, submit, attempts[name])
    assert status == "crashed"
    assert "PermissionError" in reason


def test_another_submission_cannot_be_read(evaluator: Evaluator, submit: Submit) -> None:
    """Submissions are built below one folder of the evaluator's, which gives each worker its own part."""
    look = "home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))"
    status, reason = end(evaluator, submit, f"{look}\nos.listdir(os.path.dirname(home))")
    assert (status, "PermissionError" in reason) == ("crashed", True)


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("assert b'rmsnorm' in open(__file__, 'rb').read()", id="its own source"),
        pytest.param("import email.mime.audio, torch.fft, torch.nn.utils.prune", id="modules"),
        pytest.param("assert 'MHz' in open('/proc/cpuinfo').read()", id="the processor"),
        pytest.param("assert os.listdir('/sys/devices/system/cpu')", id="its caches"),
        pytest.param("assert open('/proc/self/maps').read()", id="its own memory"),
        pytest.param("import tempfile\ntempfile.TemporaryFile().write(b'x')", id="temporary files"),
        pytest.param("assert os.urandom(8)\nopen('/dev/urandom', 'rb').read(8)", id="random numbers"),
        pytest.param("open('kept', 'w').write('1')\nassert open('kept').read() == '1'", id="what it has written"),
    ],
)  # fmt: skip
def test_what_a_kernel_needs_can_be_read(evaluator: Evaluator, submit: Submit, attempt: str) -> None:
    assert end(evaluator, submit, attempt) == ("passed", "")


def test_a_compiler_includes_nothing_of_the_users(evaluator: Evaluator, submit: Submit, secret: Path) -> None:
    source = native(CPP_ANSWER, f'#include "{secret}"')
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick", seed=1, case=0)
    assert record.status == "build_failed"
    assert SECRET not in record.log + record.reason
    assert "Permission denied" in record.log


def test_a_compiler_embeds_nothing_of_the_users(evaluator: Evaluator, submit: Submit, secret: Path) -> None:
    source = native(CPP_ANSWER, f'asm(".incbin \\"{secret}\\"");')
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick", seed=1, case=0)
    assert (record.status, SECRET in record.log) == ("build_failed", False)


def test_a_home_directory_is_never_among_what_may_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A compiler in ~/bin would make its prefix, which is the home directory, readable.
    home = os.path.expanduser(f"~{pwd.getpwuid(os.getuid()).pw_name}")
    monkeypatch.setattr(shutil, "which", lambda tool: f"{home}/bin/{tool}")
    monkeypatch.setenv("CUDA_HOME", os.path.dirname(home) or "/")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/lib:/")
    found = readable.paths(own_proc=False, gpu=False)
    assert f"{tmp_path}/lib" in found
    assert not {home, os.path.dirname(home), "/"} & set(map(os.path.realpath, found))


@pytest.mark.parametrize("named_by", ["PATH", "CC"])
def test_a_compiler_and_what_lies_beside_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named_by: str
) -> None:
    compiler = tmp_path / "toolchain" / "bin" / "gcc"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv(named_by, str(compiler.parent if named_by == "PATH" else compiler))
    assert str(tmp_path / "toolchain") in readable.paths(own_proc=False, gpu=False)


def test_what_is_installed_beside_us_can_be_read_and_a_checkout_cannot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside_us, checkout = str(PACKAGE.parent), tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()
    monkeypatch.setattr(sys, "path", [beside_us, str(checkout), str(tmp_path / "site-packages")])
    is_checkout = (PACKAGE.parent / "pyproject.toml").exists()
    found = readable.paths(own_proc=False, gpu=False)
    assert str(tmp_path / "site-packages") in found
    assert str(checkout) not in found
    assert (beside_us in found) is not is_checkout
    monkeypatch.setattr(os.path, "exists", lambda path: False)  # we are installed, for one user, beside torch
    assert beside_us in readable.paths(own_proc=False, gpu=False)


def test_a_user_whose_home_lies_in_a_system_folder_can_run_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: "/usr/sbin")
    assert "/usr" in readable.paths(own_proc=False, gpu=False)
