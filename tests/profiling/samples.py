"""Output of NVIDIA's tools, written to the documented formats; nothing here comes from a device."""

from __future__ import annotations

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COLUMNS = {
    "ID": "", "Process ID": "", "Process Name": "", "Host Name": "", "Kernel Name": "", "Context": "", "Stream": "",
    "Block Size": "", "Grid Size": "", "Device": "", "CC": "",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "gpu__time_duration.sum": "us",
    "lts__t_sector_hit_rate.pct": "%",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
    STALL.format("long_scoreboard"): "inst", STALL.format("barrier"): "inst", STALL.format("selected"): "inst",
}  # fmt: skip
LAUNCH = [
    "0", "42", "python3.11", "127.0.0.1", "void softmax<float, 4>(const float *, float *)", "1", "7", "(256, 1, 1)",
    "(1024, 1, 1)", "0", "9.0", "81.25", "1,234.5", "33.3", "12.5", "75.5", "9.5", "2.25", "1",
]  # fmt: skip
NOISE = '==PROF== Connected to process 42\n==PROF== Profiling "softmax" - 0: 0%....100% - 8 passes\n'


def page(*launches: list[str], units: dict[str, str] | None = None) -> str:
    rows = [list(COLUMNS), list((units or COLUMNS).values()), *launches]
    return NOISE + "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at rmsnorm_kernel(const float *, float *, long)+0x70 in kernel.cu:12
=========     by thread (31,0,0) in block (2,0,0)
=========     Access to 0x7f0000000400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 1024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: rmsnorm [0x1234] in kernel_float32.so
=========
========= Invalid __global__ write of size 4 bytes
=========     at rmsnorm_kernel(const float *, float *, long)+0x70 in kernel.cu:12
=========     by thread (31,0,0) in block (2,0,0)
=========     Access to 0x7f0000000400 is out of bounds
=========
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(float *)+0x50 in kernel.cu:51
=========     and Read access at sum(float *)+0x90 in kernel.cu:52 [128 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
