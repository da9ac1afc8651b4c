"""The filter is run here by a small machine for classic BPF; nothing is installed."""

from __future__ import annotations

import errno

import pytest

from robust_kbench.worker import kernel, seccomp
from robust_kbench.worker.seccomp import Instruction, assemble

X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003
ALLOW, ENOSYS, EPERM = "allow", errno.ENOSYS, errno.EPERM

# Numbers from the kernel's table for x86_64, written down independently of the package.
READ, WRITE, OPEN, CLOSE, MMAP, MPROTECT, MUNMAP, IOCTL, PREAD, MADVISE = 0, 1, 2, 3, 9, 10, 11, 16, 17, 28
GETPID, SENDTO, FUTEX, SCHED_YIELD, EXIT, EXIT_GROUP, KILL = 39, 44, 202, 24, 60, 231, 62
SOCKET, CLONE, FORK, VFORK, EXECVE, EXECVEAT, CLONE3 = 41, 56, 57, 58, 59, 322, 435
PTRACE, MOUNT, UMOUNT, PIVOT_ROOT, CHROOT, UNSHARE, SETNS, BPF, PRCTL = 101, 165, 166, 155, 161, 272, 308, 321, 157
READV, WRITEV, PIDFD_GETFD, IO_URING_SETUP, USERFAULTFD, PERF_EVENT_OPEN, KEYCTL = 310, 311, 438, 425, 323, 298, 250
SCHED_SETAFFINITY, MOUNT_SETATTR, FSCONFIG, FSPICK, KEXEC_FILE_LOAD, DELETE_MODULE = 203, 442, 431, 433, 320, 176
THREAD = 0x003D0F00  # what pthread_create passes
FORK_FLAGS = 0x01200011  # what fork passes
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME, PR_GET_DUMPABLE, PR_SET_SECCOMP, PR_SET_VMA = (
    1,
    4,
    15,
    3,
    22,
    0x53564D41,
)

DENIED = {
    "ptrace": PTRACE, "process_vm_readv": READV, "process_vm_writev": WRITEV, "pidfd_getfd": PIDFD_GETFD,
    "unshare": UNSHARE, "setns": SETNS, "mount": MOUNT, "umount2": UMOUNT, "pivot_root": PIVOT_ROOT, "chroot": CHROOT,
    "bpf": BPF, "io_uring_setup": IO_URING_SETUP, "userfaultfd": USERFAULTFD, "perf_event_open": PERF_EVENT_OPEN,
    "keyctl": KEYCTL,
}  # fmt: skip
ALLOWED = {
    "read": READ, "write": WRITE, "open": OPEN, "close": CLOSE, "mmap": MMAP, "mprotect": MPROTECT, "munmap": MUNMAP,
    "ioctl": IOCTL, "pread64": PREAD, "madvise": MADVISE, "getpid": GETPID, "futex": FUTEX, "sendto": SENDTO,
    "sched_yield": SCHED_YIELD, "exit": EXIT, "exit_group": EXIT_GROUP, "kill": KILL,
}  # fmt: skip
NEW_PROCESS = {"fork": FORK, "vfork": VFORK, "execve": EXECVE, "execveat": EXECVEAT}


@pytest.fixture(autouse=True)
def _on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "x86_64")


def _run(program: list[Instruction], number: int, *arguments: int, arch: int = X86_64) -> str | int:
    """What the kernel would do with the call: "allow", or the error it gives."""
    words = {0: number, 4: arch, **{16 + 8 * place: value & 0xFFFFFFFF for place, value in enumerate(arguments)}}
    accumulator, counter = 0, 0
    for _ in range(len(program)):
        code, if_true, if_false, operand = program[counter]
        counter += 1
        if code == 0x20:  # load a word of the call
            accumulator = words.get(operand, 0)
        elif code == 0x06:  # return
            return ALLOW if operand == 0x7FFF0000 else _error(operand)
        elif code == 0x54:  # and
            accumulator &= operand
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            counter += if_true if holds[code] else if_false
    raise AssertionError("the program has no end")


def _error(operand: int) -> int:
    assert operand & 0xFFFF0000 == 0x00050000, "neither allow nor errno"
    return operand & 0xFFFF


def _verdict(
    number: int, *arguments: int, processes: bool = False, unix: bool = False, arch: int = X86_64
) -> str | int:
    program = assemble(allow_processes=processes, allow_unix_sockets=unix)
    return _run(program, number, *arguments, arch=arch)


MADV_DONTNEED, MADV_HUGEPAGE, MADV_REMOVE, FALLOCATE, PUNCH_HOLE = 4, 14, 9, 285, 3
FCNTL, F_GETFD, F_SETOWN, F_SETSIG, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP, FIONREAD = (
    72,
    1,
    8,
    10,
    15,
    0x8901,
    0x8902,
    0x541B,
)
TKILL, TGKILL, RT_SIGQUEUEINFO, RT_TGSIGQUEUEINFO, PIDFD_SEND_SIGNAL, SHMGET = 200, 234, 129, 297, 424, 29
SOCKETPAIR, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, CLOEXEC = 53, 1, 2, 3, 5, 0x80000
MSGGET, SEMGET, MQ_OPEN, TIMER_CREATE, SETITIMER, MADV_COLLAPSE = 68, 64, 240, 222, 38, 25
SIGCONT, SIGCHLD = 18, 17
SETPGID, SETSID, TIMERFD_CREATE = 109, 112, 283
INOTIFY_INIT, INOTIFY_ADD_WATCH, INOTIFY_INIT1, FANOTIFY_INIT, GETPGID, GETSID = 253, 254, 294, 300, 121, 124
SETXATTRAT, FILE_SETATTR, MSEAL = 463, 469, 462
ME, ANOTHER, EVERYBODY = 4711, 4712, 0xFFFFFFFF


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        pytest.param((MADVISE, 0, 4096, MADV_REMOVE), EPERM, id="pages taken out of shared memory"),
        pytest.param((MADVISE, 0, 4096, MADV_DONTNEED), ALLOW, id="pages given back"),
        pytest.param((MADVISE, 0, 4096, MADV_HUGEPAGE), ALLOW, id="huge pages"),
        pytest.param((FALLOCATE, 3, PUNCH_HOLE, 0, 4096), errno.EOPNOTSUPP, id="a hole in a file"),
        pytest.param((FALLOCATE, 3, 0, 0, 4096), ALLOW, id="room for a file"),
        pytest.param((FCNTL, 3, F_SETOWN, ANOTHER), EPERM, id="signals to an owner"),
        pytest.param((FCNTL, 3, F_SETOWN_EX, 0), EPERM, id="signals to a thread"),
        pytest.param((FCNTL, 3, F_SETSIG, 9), EPERM, id="which signal"),
        pytest.param((FCNTL, 3, F_GETFD), ALLOW, id="flags of a descriptor"),
        pytest.param((IOCTL, 3, FIOSETOWN, 0), EPERM, id="an owner by ioctl"),
        pytest.param((IOCTL, 3, SIOCSPGRP, 0), EPERM, id="a group by ioctl"),
        pytest.param((IOCTL, 3, FIONREAD, 0), ALLOW, id="another ioctl"),
        pytest.param((SHMGET, 0, 4096, 0o600), EPERM, id="memory that nobody counts"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_STREAM), ALLOW, id="a pair of sockets"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_DGRAM), EPERM, id="a pair that can send to others"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_DGRAM | CLOEXEC), EPERM, id="the same, closed on exec"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_RAW), EPERM, id="what becomes such a pair"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_RAW | CLOEXEC), EPERM, id="the same, closed on exec too"),
        pytest.param((SOCKETPAIR, AF_UNIX, SOCK_SEQPACKET | CLOEXEC), ALLOW, id="a connected pair of packets"),
        pytest.param((MADVISE, 0, 4096, MADV_COLLAPSE), EPERM, id="pages taken from other processes' tables"),
        pytest.param((MSGGET, 0, 0o600), EPERM, id="a queue with a key"),
        pytest.param((SEMGET, 0, 1, 0o600), EPERM, id="semaphores with a key"),
        pytest.param((MQ_OPEN, 0), EPERM, id="a queue with a name"),
        pytest.param((TIMER_CREATE, 0, 0, 0), EPERM, id="a timer with any signal"),
        pytest.param((SETITIMER, 0, 0, 0), ALLOW, id="a timer with its own signal"),
        pytest.param((TIMERFD_CREATE, 1, 0), EPERM, id="a timer that is a file"),
        pytest.param((SETPGID, 0, 0), EPERM, id="a group of its own, which may become an orphan"),
        pytest.param((GETPGID, 0), ALLOW, id="which group it is in"),
        pytest.param((SETSID,), EPERM, id="a session of its own"),
        pytest.param((GETSID, 0), ALLOW, id="which session it is in"),
        pytest.param((INOTIFY_INIT,), EPERM, id="news of files"),
        pytest.param((INOTIFY_INIT1, 0), EPERM, id="the same, with flags"),
        pytest.param((INOTIFY_ADD_WATCH, 3, 0, 0), EPERM, id="one more file to be told of"),
        pytest.param((FANOTIFY_INIT, 0, 0), EPERM, id="news of whole file systems"),
        pytest.param((SETXATTRAT, 0), ENOSYS, id="attributes of a file, newly"),
        pytest.param((FILE_SETATTR, 0), ENOSYS, id="flags of a file, newly"),
        pytest.param((1_000, 0), ENOSYS, id="what no kernel has yet"),
        pytest.param((MSEAL, 0, 4096), ALLOW, id="the last one that was looked at"),
    ],
)
def test_a_call_is_denied_for_what_it_asks_for(call: tuple[int, ...], verdict: str | int, processes: bool) -> None:
    assert _verdict(*call, processes=processes) == verdict


@pytest.mark.parametrize("number", [KILL, TGKILL, RT_SIGQUEUEINFO, RT_TGSIGQUEUEINFO])
@pytest.mark.parametrize(("target", "verdict"), [(ME, ALLOW), (0, ALLOW), (ANOTHER, EPERM), (EVERYBODY, EPERM)])
def test_without_a_pid_namespace_only_oneself_can_be_signalled(number: int, target: int, verdict: str | int) -> None:
    program = assemble(allow_processes=True, allow_unix_sockets=False, may_signal_only=ME)
    assert _run(program, number, target, 9) == verdict
    assert _verdict(number, target, 9, processes=True) == ALLOW  # in a namespace there is nobody else


def test_without_a_pid_namespace_no_process_can_be_signalled_by_descriptor() -> None:
    program = assemble(allow_processes=True, allow_unix_sockets=False, may_signal_only=ME)
    assert _run(program, PIDFD_SEND_SIGNAL, 3, 9) == EPERM
    assert _run(program, TKILL, ANOTHER, 9) == EPERM


every_variant = pytest.mark.parametrize(
    ("processes", "unix"), [(False, False), (True, False), (False, True), (True, True)], ids=str
)


@every_variant
@pytest.mark.parametrize("number", DENIED.values(), ids=DENIED)
def test_a_dangerous_call_is_denied_to_every_submission(number: int, processes: bool, unix: bool) -> None:
    assert _verdict(number, processes=processes, unix=unix) == EPERM


@every_variant
@pytest.mark.parametrize("number", ALLOWED.values(), ids=ALLOWED)
def test_an_ordinary_call_is_allowed_to_every_submission(number: int, processes: bool, unix: bool) -> None:
    assert _verdict(number, processes=processes, unix=unix) == ALLOW


@pytest.mark.parametrize("number", NEW_PROCESS.values(), ids=NEW_PROCESS)
@pytest.mark.parametrize(("processes", "verdict"), [(False, EPERM), (True, ALLOW)], ids=["others", "compilers"])
def test_only_languages_that_compile_at_run_time_start_processes(
    number: int, processes: bool, verdict: str | int
) -> None:
    assert _verdict(number, processes=processes) == verdict


@pytest.mark.parametrize(
    ("flags", "processes", "verdict"),
    [
        (THREAD, False, ALLOW),
        (FORK_FLAGS, False, EPERM),
        (17, False, EPERM),
        (0, False, EPERM),
        (THREAD, True, ALLOW),
        (FORK_FLAGS, True, ALLOW),
        (0x10000000 | 17, True, EPERM),
        (0x20000000 | 17, True, EPERM),
        (0x00020000 | 17, True, EPERM),
        (0x40000000 | THREAD, True, EPERM),
        (0x04000000, True, EPERM),
        (0x08000000, True, EPERM),
        (0x02000000, True, EPERM),
    ],
    ids=[
        "thread", "fork", "plain child", "nothing", "thread of a compiler", "fork of a compiler", "user namespace",
        "pid namespace", "mount namespace", "network namespace", "uts namespace", "ipc namespace", "cgroup namespace",
    ],
)  # fmt: skip
def test_clone_makes_threads_or_processes_and_never_namespaces(flags: int, processes: bool, verdict: str | int) -> None:
    assert _verdict(CLONE, flags, processes=processes) == verdict


@pytest.mark.parametrize(("signal", "verdict"), [(0, ALLOW), (SIGCHLD, ALLOW), (SIGCONT, EPERM), (9, EPERM)])
def test_a_child_ends_with_the_usual_signal_or_none(signal: int, verdict: str | int) -> None:
    assert _verdict(CLONE, 0x01200000 | signal, processes=True) == verdict


@every_variant
def test_clone3_seems_not_to_exist_so_that_the_c_library_falls_back_to_clone(processes: bool, unix: bool) -> None:
    assert _verdict(CLONE3, processes=processes, unix=unix) == ENOSYS


@pytest.mark.parametrize("option", [PR_SET_PDEATHSIG, PR_SET_DUMPABLE])
@pytest.mark.parametrize("processes", [False, True])
def test_the_process_options_that_cleaning_up_rests_on_are_denied(option: int, processes: bool) -> None:
    assert _verdict(PRCTL, option, processes=processes) == EPERM
    assert _verdict(PRCTL, option | 1 << 32, processes=processes) == EPERM  # the kernel looks at 32 bits


@pytest.mark.parametrize("option", [PR_SET_NAME, PR_GET_DUMPABLE, PR_SET_SECCOMP, PR_SET_VMA, 0, 2, 5])
@pytest.mark.parametrize("processes", [False, True])
def test_other_process_options_are_allowed(option: int, processes: bool) -> None:
    assert _verdict(PRCTL, option, processes=processes) == ALLOW


@pytest.mark.parametrize("family", [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])
@pytest.mark.parametrize("processes", [False, True])
def test_no_submission_on_the_processor_opens_a_socket(family: int, processes: bool) -> None:
    assert _verdict(SOCKET, family, processes=processes) == EPERM


@pytest.mark.parametrize(
    ("family", "verdict"), [(AF_UNIX, ALLOW), (AF_INET, EPERM), (AF_INET6, EPERM), (AF_NETLINK, EPERM)]
)
def test_on_a_gpu_only_local_sockets_are_opened(family: int, verdict: str | int) -> None:
    assert _verdict(SOCKET, family, unix=True) == verdict


@every_variant
@pytest.mark.parametrize("arch", [I386, AARCH64, 0], ids=["i386", "aarch64", "none"])
def test_the_calls_of_another_architecture_are_denied_whatever_their_numbers(
    arch: int, processes: bool, unix: bool
) -> None:
    assert {_verdict(number, processes=processes, unix=unix, arch=arch) for number in (READ, FORK, GETPID)} == {EPERM}


@every_variant
@pytest.mark.parametrize("number", [READ, GETPID, PTRACE, 520, 2**31 - 0x40000001], ids=hex)
def test_the_second_set_of_numbers_of_x86_64_is_denied(number: int, processes: bool, unix: bool) -> None:
    assert _verdict(0x40000000 | number, processes=processes, unix=unix) == EPERM


def test_the_less_known_siblings_of_a_denied_call_are_denied_too() -> None:
    siblings = {
        "mount_setattr": MOUNT_SETATTR, "fsconfig": FSCONFIG, "fspick": FSPICK, "kexec_file_load": KEXEC_FILE_LOAD,
        "delete_module": DELETE_MODULE,
    }  # fmt: skip
    assert {name: _verdict(number) for name, number in siblings.items()} == dict.fromkeys(siblings, EPERM)


def test_a_submission_cannot_leave_the_core_that_it_is_timed_on() -> None:
    # With two cores and two threads it would be compared with baselines that have one.
    assert _verdict(SCHED_SETAFFINITY) == EPERM


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@every_variant
def test_every_jump_stays_within_the_program_and_every_path_returns(
    machine: str, processes: bool, unix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MACHINE", machine)
    program = assemble(allow_processes=processes, allow_unix_sockets=unix)
    assert program[-1] == (0x06, 0, 0, 0x7FFF0000)
    assert len(program) <= 4096
    for place, (code, if_true, if_false, _) in enumerate(program):
        assert code in {0x20, 0x54, 0x15, 0x35, 0x45, 0x06}
        assert max(if_true, if_false) <= 255
        assert code == 0x06 or place + 1 + max(if_true, if_false) < len(program)


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (63, ALLOW), (64, ALLOW), (117, EPERM), (97, EPERM), (40, EPERM), (198, EPERM), (221, EPERM), (435, ENOSYS),
        (107, EPERM), (85, EPERM), (154, EPERM), (157, EPERM), (26, EPERM), (27, EPERM), (262, EPERM), (155, ALLOW),
        (156, ALLOW), (28, ALLOW), (86, ALLOW),
    ],
    ids=[
        "read", "write", "ptrace", "unshare", "mount", "socket", "execve", "clone3", "timer_create", "timerfd_create",
        "setpgid", "setsid", "inotify_init1", "inotify_add_watch", "fanotify_init", "getpgid", "getsid",
        "inotify_rm_watch", "timerfd_settime",
    ],
)  # fmt: skip
def test_on_aarch64_the_same_calls_have_other_numbers(
    number: int, verdict: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "aarch64")
    program = assemble(allow_processes=False, allow_unix_sockets=False)
    assert _run(program, number, arch=AARCH64) == verdict
    assert _run(program, number, arch=X86_64) == EPERM


def test_a_machine_without_a_filter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "riscv64")
    with pytest.raises(OSError, match="no filter for riscv64"):
        seccomp.install(allow_processes=False, allow_unix_sockets=False)
