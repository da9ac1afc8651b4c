from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.devices import machine


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a control group says what it allows; nothing in it yet."""
    monkeypatch.setattr(machine, "_CONTROL_GROUP", tmp_path)
    return tmp_path


def test_without_a_limit_what_the_kernel_calls_available_is_free(group: Path) -> None:
    meminfo = Path("/proc/meminfo").read_text().split()
    available = int(meminfo[meminfo.index("MemAvailable:") + 1]) << 10
    assert abs(machine.free_bytes() - available) < available / 4  # it moves while we look
    (group / "memory.max").write_text("max\n")
    assert abs(machine.free_bytes() - available) < available / 4


def test_the_limit_of_a_control_group_counts_less_what_is_used_and_cannot_be_reclaimed(group: Path) -> None:
    (group / "memory.max").write_text(f"{64 << 20}\n")
    (group / "memory.current").write_text(f"{48 << 20}\n")
    assert machine.free_bytes() == 16 << 20
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {8 << 20}\n")
    assert machine.free_bytes() == 24 << 20
