"""Run nvcc with the halves of its work side by side: what it does for the host, and what it does for the device.

For one file nvcc runs its tools one after the other, although the front end of the host's code needs nothing of the
device's but a name. With torch's headers each half takes a third of the time. `nvcc --dryrun` lists the tools, and a
shell runs the list in the sandbox in which nvcc would have done so. What is listed in any other way is left to nvcc.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages import compiler

_PREFIX = "#$ "
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)")
_NAME = re.compile(r'--gen_module_id_file --module_id_file_name "([^"]+)"')
_NAMED = "--module_id_file_name"
_MODULE = "_4b42454e_6_kernel_4348"
"""A name for the symbols that no other file sees. Each library is made of one file."""
_LIST_TIMEOUT_S, _LONGEST_SCRIPT = 30, 1 << 16


@dataclass(frozen=True)
class _Plan:
    variables: list[tuple[str, str]]
    commands: list[str]


def run(command: Sequence[str], folder: Path, *, timeout_s: int, memory_bytes: int) -> str:
    """Run `command`, which begins with nvcc, in `folder`, and return what it printed. Raises BuildError."""
    try:
        listing = [*command, "--dryrun", "--keep", "--keep-dir", "halves"]
        code, listed = compiler.run_verbatim(listing, folder, timeout_s=_LIST_TIMEOUT_S)
    except BuildError:
        code, listed = 1, ""
    script = side_by_side(listed) if code == 0 else None
    if script is None or len(script) > _LONGEST_SCRIPT:  # nvcc says why, if it cannot do it
        return compiler.run(command, folder, timeout_s=timeout_s, memory_bytes=memory_bytes)
    # Not by a file: the folder is one in which a hostile build may have put a link.
    return compiler.run(["/bin/sh", "-c", script], folder, timeout_s=timeout_s, memory_bytes=memory_bytes)


def side_by_side(listed: str) -> str | None:
    """Write a script that runs what `nvcc --dryrun` has listed; None if that is not one file for one architecture."""
    plan = _parse(listed)
    fronts = [number for number, command in enumerate(plan.commands) if command.startswith("cudafe++ ")]
    made = [number for number, command in enumerate(plan.commands) if command.startswith("fatbinary ")]
    devices = [number for number, command in enumerate(plan.commands) if 'cicc" ' in command]
    if len(fronts) != 1 or len(devices) != 1 or not made or not fronts[0] < devices[0] < made[0]:
        return None
    front, name = plan.commands[fronts[0]], _NAME.search(plan.commands[fronts[0]])
    if name is None or _NAMED not in plan.commands[devices[0]]:
        return None
    host = [*plan.commands[: fronts[0]], front.replace(name[0], f'{_NAMED} "{name[1]}"')]
    device = plan.commands[fronts[0] + 1 : made[0] + 1]
    lines = [f"export {variable}={shlex.quote(value)}" for variable, value in plan.variables]
    lines += ["mkdir -p halves", f'printf %s {_MODULE} > "{name[1]}"']
    lines += ["(", " &&\n".join(host), ") > host.log 2>&1 &", "host=$!"]
    lines += ["(", " &&\n".join(device), ") > device.log 2>&1", "device=$?"]
    # An error in the source is one of both halves; nvcc would not have come to the second.
    lines += ["wait $host; host=$?; cat host.log; [ $host = 0 ] || exit 1", "cat device.log; [ $device = 0 ] || exit 1"]
    return "\n".join([*lines, " &&\n".join(plan.commands[made[0] + 1 :])]) + "\n"


def _parse(listed: str) -> _Plan:
    plan = _Plan([], [])
    for line in listed.splitlines():
        text = line.removeprefix(_PREFIX).strip()
        if not line.startswith(_PREFIX) or not text:
            continue
        if (variable := _VARIABLE.fullmatch(text)) is not None:
            plan.variables.append((variable[1], variable[2]))
        elif not text.startswith("rm "):  # of files that are not there yet
            plan.commands.append(text)
    return plan
