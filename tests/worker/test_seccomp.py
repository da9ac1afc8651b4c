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
    "keyctl": KEYCTL, "adjtimex": 159, "clock_adjtime": 305, "clock_settime": 227, "settimeofday": 164, "iopl": 172,
    "ioperm": 173, "sethostname": 170, "setdomainname": 171, "acct": 163, "swapon": 167, "swapoff": 168,
    "quotactl": 179, "quotactl_fd": 443, "sched_setattr": 314, "sched_setscheduler": 144, "sched_setparam": 142,
    "io_setup": 206, "vhangup": 153, "syslog": 103,
}  # fmt: skip
ALLOWED = {
    "read": READ, "write": WRITE, "open": OPEN, "close": CLOSE, "mmap": MMAP, "mprotect": MPROTECT, "munmap": MUNMAP,
    "ioctl": IOCTL, "pread64": PREAD, "madvise": MADVISE, "getpid": GETPID, "futex": FUTEX, "sendto": SENDTO,
    "sched_yield": SCHED_YIELD, "exit": EXIT, "exit_group": EXIT_GROUP, "kill": KILL,
    "sched_getparam": 143, "sched_getscheduler": 145, "sched_getaffinity": 204, "clock_gettime": 228, "uname": 63,
    "getrlimit": 97, "getpriority": 140, "ioprio_get": 252,
}  # fmt: skip
NEW_PROCESS = {"fork": FORK, "vfork": VFORK, "execve": EXECVE, "execveat": EXECVEAT}


@pytest.fixture(autouse=True)
def _on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "x86_64")


def _run(program: list[Instruction], number: int, *arguments: int, arch: int = X86_64) -> str | int:
    """Return the kernel's decision on the call: "allow", or the error that it gives."""
    words = {0: number, 4: arch}
    for place, value in enumerate(arguments):
        words |= {16 + 8 * place: value & 0xFFFFFFFF, 20 + 8 * place: value >> 32}
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
AF_TIPC, MKNOD, MKNODAT, HERE = 30, 133, 259, 0xFFFFFF9C
FILE, CHARACTERS, BLOCKS, PIPE, NAMED_SOCKET, OWNED = 0o100000, 0o020000, 0o060000, 0o010000, 0o140000, 0o600
PRLIMIT64, SETRLIMIT, LIMIT_OF_DUMPS, LIMIT_OF_FILES, NEW_LIMIT, ALIGNED = 302, 160, 4, 7, 0x7FFE12345678, 0x7FFE << 32
SETPRIORITY, IOPRIO_SET = 141, 251


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
        pytest.param((FCNTL, 3, 1024), EPERM, id="news of a file by F_SETLEASE"),
        pytest.param((FCNTL, 3, 1026), EPERM, id="news of a folder by F_NOTIFY"),
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
        pytest.param((SOCKETPAIR, AF_TIPC, SOCK_STREAM), EPERM, id="a pair of another family"),
        pytest.param((MKNOD, 0, CHARACTERS | OWNED, 0x10B), EPERM, id="a device of characters"),
        pytest.param((MKNOD, 0, BLOCKS | OWNED, 0x800), EPERM, id="a disk"),
        pytest.param((MKNODAT, HERE, 0, CHARACTERS | OWNED, 0x10B), EPERM, id="a device in a folder"),
        pytest.param((MKNODAT, HERE, 0, BLOCKS | OWNED, 0x800), EPERM, id="a disk in a folder"),
        pytest.param((MKNODAT, HERE, 0, NAMED_SOCKET | OWNED, 0), EPERM, id="a socket in a folder"),
        pytest.param((MKNODAT, HERE, 0, BLOCKS | 1 << 16, 0x800), EPERM, id="a disk with a bit that no mode has"),
        pytest.param((MKNOD, 0, PIPE | OWNED, 0), ALLOW, id="a pipe with a name"),
        pytest.param((MKNODAT, HERE, 0, PIPE | OWNED, 0), ALLOW, id="a pipe in a folder"),
        pytest.param((MKNODAT, HERE, 0, FILE | OWNED, 0), ALLOW, id="a file"),
        pytest.param((MKNODAT, HERE, 0, OWNED, 0), ALLOW, id="a file that does not say so"),
        pytest.param((SETRLIMIT, LIMIT_OF_DUMPS, NEW_LIMIT), EPERM, id="a limit of no dumps, which allows them"),
        pytest.param((SETRLIMIT, LIMIT_OF_FILES, NEW_LIMIT), ALLOW, id="another limit"),
        pytest.param((PRLIMIT64, 0, LIMIT_OF_DUMPS, NEW_LIMIT, 0), EPERM, id="the same limit by a newer call"),
        pytest.param((PRLIMIT64, 0, LIMIT_OF_DUMPS, ALIGNED, 0), EPERM, id="the same, at a round address"),
        pytest.param((PRLIMIT64, 0, LIMIT_OF_DUMPS, 0, NEW_LIMIT), ALLOW, id="a question for this limit"),
        pytest.param((PRLIMIT64, 0, LIMIT_OF_FILES, NEW_LIMIT, 0), ALLOW, id="another limit by a newer call"),
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


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        pytest.param((PRLIMIT64, 0, LIMIT_OF_FILES, NEW_LIMIT), ALLOW, id="limits of oneself"),
        pytest.param((PRLIMIT64, ME, LIMIT_OF_FILES, NEW_LIMIT), ALLOW, id="the same, by number"),
        pytest.param((PRLIMIT64, ME, LIMIT_OF_DUMPS, NEW_LIMIT), EPERM, id="the limit of dumps, by number"),
        pytest.param((PRLIMIT64, ANOTHER, LIMIT_OF_FILES, NEW_LIMIT), EPERM, id="limits of another"),
        pytest.param((PRLIMIT64, ANOTHER, LIMIT_OF_FILES, 0), EPERM, id="a question for those"),
        pytest.param((SETPRIORITY, 0, 0, 5), ALLOW, id="a priority of its own"),
        pytest.param((SETPRIORITY, 0, ME, 5), ALLOW, id="the same, by number"),
        pytest.param((SETPRIORITY, 0, ANOTHER, 5), EPERM, id="another's priority"),
        pytest.param((SETPRIORITY, 1, 0, 5), EPERM, id="a group's"),
        pytest.param((SETPRIORITY, 2, 0, 5), EPERM, id="that of all processes of the user"),
        pytest.param((IOPRIO_SET, 1, 0, 3 << 13), ALLOW, id="a priority of its own at the disk"),
        pytest.param((IOPRIO_SET, 1, ME, 3 << 13), ALLOW, id="the same there, by number"),
        pytest.param((IOPRIO_SET, 1, ANOTHER, 3 << 13), EPERM, id="another's at the disk"),
        pytest.param((IOPRIO_SET, 2, 0, 3 << 13), EPERM, id="a group's at the disk"),
        pytest.param((IOPRIO_SET, 3, 0, 3 << 13), EPERM, id="that of all of the user at the disk"),
    ],
)
def test_without_a_pid_namespace_limits_and_priorities_are_ones_own(call: tuple[int, ...], verdict: str | int) -> None:
    program = assemble(allow_processes=True, allow_unix_sockets=False, may_signal_only=ME)
    assert _run(program, *call) == verdict


def test_in_a_pid_namespace_there_is_nobody_else_to_limit_or_to_slow() -> None:
    assert _verdict(PRLIMIT64, ANOTHER, LIMIT_OF_FILES, NEW_LIMIT) == ALLOW
    assert _verdict(SETPRIORITY, 0, ANOTHER, 5) == ALLOW
    assert _verdict(IOPRIO_SET, 1, ANOTHER, 0) == ALLOW


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
        (156, ALLOW), (28, ALLOW), (86, ALLOW), (171, EPERM), (266, EPERM), (112, EPERM), (170, EPERM), (161, EPERM),
        (162, EPERM), (89, EPERM), (224, EPERM), (225, EPERM), (60, EPERM), (443, EPERM), (274, EPERM), (119, EPERM),
        (118, EPERM), (0, EPERM), (58, EPERM), (116, EPERM), (113, ALLOW), (120, ALLOW), (160, ALLOW),
    ],
    ids=[
        "read", "write", "ptrace", "unshare", "mount", "socket", "execve", "clone3", "timer_create", "timerfd_create",
        "setpgid", "setsid", "inotify_init1", "inotify_add_watch", "fanotify_init", "getpgid", "getsid",
        "inotify_rm_watch", "timerfd_settime", "adjtimex", "clock_adjtime", "clock_settime", "settimeofday",
        "sethostname", "setdomainname", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd", "sched_setattr",
        "sched_setscheduler", "sched_setparam", "io_setup", "vhangup", "syslog", "clock_gettime",
        "sched_getscheduler", "uname",
    ],
)  # fmt: skip
def test_on_aarch64_the_same_calls_have_other_numbers(
    number: int, verdict: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "aarch64")
    program = assemble(allow_processes=False, allow_unix_sockets=False)
    assert _run(program, number, arch=AARCH64) == verdict
    assert _run(program, number, arch=X86_64) == EPERM


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        pytest.param((33, HERE, 0, CHARACTERS, 0x10B), EPERM, id="mknodat"),
        pytest.param((33, HERE, 0, PIPE, 0), ALLOW, id="mknodat of a pipe"),
        pytest.param((164, LIMIT_OF_DUMPS, NEW_LIMIT), EPERM, id="setrlimit"),
        pytest.param((261, 0, LIMIT_OF_DUMPS, NEW_LIMIT), EPERM, id="prlimit64"),
        pytest.param((261, ANOTHER, LIMIT_OF_FILES, NEW_LIMIT), EPERM, id="prlimit64 of another"),
        pytest.param((140, 0, ANOTHER, 5), EPERM, id="setpriority"),
        pytest.param((30, 1, ANOTHER, 5), EPERM, id="ioprio_set"),
    ],
)
def test_on_aarch64_arguments_are_looked_at_too(
    call: tuple[int, ...], verdict: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "aarch64")
    program = assemble(allow_processes=False, allow_unix_sockets=False, may_signal_only=ME)
    assert _run(program, *call, arch=AARCH64) == verdict


def test_a_machine_without_a_filter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MACHINE", "riscv64")
    with pytest.raises(OSError, match="no filter for riscv64"):
        seccomp.install(allow_processes=False, allow_unix_sockets=False)
