"""On a kernel without landlock a worker and a compiler get a root of their own, in which what is the user's is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernels import CPP_ANSWER, native, python

# Deny landlock to this process and all its children, as an older kernel would, then judge.
PROGRAM = """
import ctypes, errno, json, struct, sys
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission
from robust_kbench.worker import kernel, landlock, seccomp

filter = [(0x20, 0, 0, 0), *seccomp._deny_number(landlock._CREATE_RULESET, errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in filter))
program = seccomp._Program(len(filter), ctypes.cast(code, ctypes.c_void_p))
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.byref(program))
with Evaluator("cpu") as evaluator:
    for text in sys.argv[1:]:
        record = evaluator.evaluate(Submission.model_validate_json(text), tier="quick", case=0)
        print(json.dumps([record.status, record.reason, record.log, record.isolation]), flush=True)
"""
ANSWER = "return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"


def submission(source: str, language: str = "python") -> str:
    name, abi = ("kernel.py", "value") if language == "python" else ("kernel.cpp", "c")
    file = {"task": "norm/rmsnorm", "language": language, "abi": abi, "entry_point": f"{name}::rmsnorm"}
    return json.dumps({"name": "test", "file": {**file, "dtypes": ["float32"]}, "sources": {name: source}})


def judge(*submissions: str) -> list[tuple[str, str, str, list[str]]]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *submissions], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if "user namespace" not in results[0][3]:
        pytest.skip("this machine allows no user namespace")
    return results


@pytest.mark.rotating
def test_what_is_the_users_is_not_there_and_what_a_kernel_needs_is(tmp_path: Path) -> None:
    secret = tmp_path / "records.jsonl"
    secret.write_text("forty-two")
    attempts = [
        f"open({str(secret)!r}).read()",
        f"open({str(tmp_path / 'new')!r}, 'w')",
        "os.mkdir('/usr/new')",
        "open('/proc/sys/kernel/core_pattern', 'r+')",  # root is its owner, capable or not
    ]
    tried = [f"try: {each}\nexcept OSError: refused += 1" for each in attempts]
    needs = "\nimport email.mime.audio\nassert open('/proc/cpuinfo').read()\nopen('kept', 'w').write('1')\n"
    source = python("refused = 0\n" + "\n".join(tried) + needs + f"if refused != {len(attempts)}: 1 / 0\n{ANSWER}")
    ((status, reason, _, layers),) = judge(submission(source))
    assert (status, reason) == ("passed", "")
    assert "private root" in layers
    assert "landlock" not in layers
    assert not (tmp_path / "new").exists()


@pytest.mark.rotating
def test_a_compiler_works_there_and_includes_nothing_of_the_users(tmp_path: Path) -> None:
    secret = tmp_path / "records.jsonl"
    secret.write_text("the answer is forty-two")
    good, bad = native(CPP_ANSWER), native(CPP_ANSWER, f'#include "{secret}"')
    (first, second) = judge(submission(good, "cpp"), submission(bad, "cpp"))
    assert first[0] == "passed", first
    assert second[0] == "build_failed"
    assert "forty-two" not in second[1] + second[2]
