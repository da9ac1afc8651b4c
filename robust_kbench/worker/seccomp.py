"""A system-call filter for the worker: a deny-list, because CUDA and torch need more calls than an allow-list can name.

Denied for every submission: other processes' memory, new namespaces and mounts, kernel interfaces with a history of
escapes, sockets, leaving the core or its scheduling policy, what belongs to the machine, such as its clocks, devices,
dumps of memory, taking pages out of memory that the judge shares, signals that an event sends to others, what works on
or wakes somebody while its process is stopped, watching files, and the two prctl options that our own cleaning up rests
on. New processes are denied too, except for languages that compile at run time, and where there is no pid namespace
signals to others, their limits and their priorities.
"""

import ctypes
import errno
import struct
from collections.abc import Sequence

from robust_kbench.worker import kernel

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_FIRST_UNKNOWN = (
    463  # setxattrat; what kernels from 6.13 on have added was not looked at, and may do what is denied here
)
# name: (x86_64, aarch64); None where the architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "remap_file_pages": (216, 234),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "io_uring_setup": (425, 425),
    "sched_setaffinity": (203, 122),  # one core is what a submission is timed on
    "mount_setattr": (442, 442),
    "fsconfig": (431, 431),
    "fspick": (433, 433),
    "kexec_file_load": (320, 294),
    "delete_module": (176, 106),
    "personality": (135, 92),
    # A policy, or a range of clock frequencies, can be asked for without a privilege. The C library does so for threads
    # only when it is told to.
    "sched_setattr": (314, 274),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "io_setup": (206, 0),  # the older sibling of io_uring
}
# What belongs to the machine. Most of it needs a privilege, which a worker has where it could not be given up.
_OF_THE_MACHINE: dict[str, tuple[int | None, int | None]] = {
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "settimeofday": (164, 170),
    "iopl": (172, None),
    "ioperm": (173, None),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "vhangup": (153, 58),
    "syslog": (103, 116),
}
# Landlock leaves the metadata of files alone, and memory behind a file descriptor escapes the limit on memory. What has
# a key or a name in the kernel is seen by others where there is no namespace for it.
_METADATA: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
# SIGCONT lets a stopped process go on: a timer can send it, and so does the kernel to a group that becomes an orphan.
# The worker leads a session already, whose only group has been one from the start. Timers that are files interrupt
# whoever is on the core, and who watches files of /proc learns when the judge looks at it. Inductor, Triton and the
# compilers start their processes in the group that they are in, and PyTorch watches files for its servers only.
_WHILE_STOPPED: dict[str, tuple[int | None, int | None]] = {
    "timer_create": (222, 107),
    "timerfd_create": (283, 85),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
}
_FORKING: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
}
_SIGNALLING: dict[str, tuple[int | None, int | None]] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
_PIDFD_SEND_SIGNAL = (424, 424)
_PRIORITIES: dict[str, tuple[tuple[int, int], int]] = {  # by number, and by what a process is asked for
    "setpriority": ((141, 140), 0),  # PRIO_PROCESS
    "ioprio_set": ((251, 30), 1),  # IOPRIO_WHO_PROCESS
}
_PRLIMIT64, _SETRLIMIT, _LIMIT_OF_DUMPS = (302, 261), (160, 164), 4
_MKNOD, _MKNODAT = (133, None), (259, 33)
_NODE_TYPE, _NODES = 0xF000, (0, 0x8000, 0x1000)  # nothing said and S_IFREG, both files, and S_IFIFO
_MREMAP, _MREMAP_DONTUNMAP = (25, 216), 4
_MADVISE, _MADV_REMOVE, _MADV_COLLAPSE = (28, 233), 9, 25
_FALLOCATE = (285, 47)
_FCNTL, _SET_OWNER_OR_SIGNAL = (72, 25), (8, 10, 15)
_SET_LEASE, _NOTIFY = 1024, 1026  # commands of fcntl, too: both tell who opens a file, or looks into a folder
_IOCTL, _SET_OWNER = (16, 29), (0x8901, 0x8902)
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_PRCTL = (157, 167)
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_SOCKET_TYPE, _STREAM, _SEQPACKET = 0xF, 1, 5  # the other bits are SOCK_NONBLOCK and SOCK_CLOEXEC
_EXIT_SIGNAL, _SIGCHLD = 0xFF, 17
_AF_UNIX = 1
_NEW_NAMESPACE = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWCGROUP
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
)

_LOAD, _AND, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCH_AT, _ARGUMENT_AT = 0, 4, 16
_SECOND_ARGUMENT_AT, _THIRD_ARGUMENT_AT, _FOURTH_ARGUMENT_AT, _UPPER_HALF = 24, 32, 40, 4

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _deny(code: int = errno.EPERM) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _deny_number(number: int, code: int = errno.EPERM) -> list[Instruction]:
    return [(_JUMP_EQUAL, 0, 1, number), _deny(code)]


def _when(number: int, verdict: list[Instruction]) -> list[Instruction]:
    """Run `verdict`, which ends in a return, when the call has this number; the number is still loaded otherwise."""
    return [(_JUMP_EQUAL, 0, len(verdict), number), *verdict]


def _deny_values(at: int, values: Sequence[int]) -> list[Instruction]:
    """A verdict: denied when the argument that lies `at` has one of these values, else allowed."""
    checks = [(_JUMP_EQUAL, len(values) - number, 0, value) for number, value in enumerate(values)]
    return [(_LOAD, 0, 0, at), *checks, (_RETURN, 0, 0, _ALLOW), _deny()]


def _require(at: int, values: Sequence[int], *, mask: int | None = None, code: int = errno.EPERM) -> list[Instruction]:
    """Part of a verdict: denied unless the argument that lies `at`, as far as `mask` keeps it, has one of `values`."""
    masked = [] if mask is None else [(_AND, 0, 0, mask)]
    checks = [(_JUMP_EQUAL, len(values) - number, 0, value) for number, value in enumerate(values)]
    return [(_LOAD, 0, 0, at), *masked, *checks, _deny(code)]


def _only_to(process: int) -> list[Instruction]:
    """Part of a verdict on a call to some process: denied except to `process` and its own group."""
    return _require(_ARGUMENT_AT, (process, 0))


def _keep_limit_of_dumps() -> list[Instruction]:
    """Part of a verdict on prlimit64: denied where a new limit on dumps of memory is given.

    One of zero would let them out through a pipe again; see sandbox.
    """
    asks_only = [*_require(_THIRD_ARGUMENT_AT, (0,)), *_require(_THIRD_ARGUMENT_AT + _UPPER_HALF, (0,))]
    return [(_LOAD, 0, 0, _SECOND_ARGUMENT_AT), (_JUMP_EQUAL, 0, len(asks_only), _LIMIT_OF_DUMPS), *asks_only]


def assemble(
    *, allow_processes: bool, allow_unix_sockets: bool, may_signal_only: int | None = None
) -> list[Instruction]:
    """The filter as classic BPF instructions (code, jump if true, jump if false, operand).

    `may_signal_only`: a process, where no namespace keeps others out of reach.
    """
    column = list(_AUDIT_ARCH).index(kernel.MACHINE)
    allow = (_RETURN, 0, 0, _ALLOW)
    argument = (_LOAD, 0, 0, _ARGUMENT_AT)
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[kernel.MACHINE]),
        _deny(),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if kernel.MACHINE == "x86_64":
        program += [(_JUMP_ABOVE, 0, 1, _X32_BIT), _deny()]
    program += [(_JUMP_ABOVE, 0, 1, _FIRST_UNKNOWN), _deny(errno.ENOSYS)]
    denied = _NUMBERS | _OF_THE_MACHINE | _METADATA | _WHILE_STOPPED | ({} if allow_processes else _FORKING)
    for numbers in denied.values():
        if (number := numbers[column]) is not None:
            program += _deny_number(number)
    # clone3 hides its flags behind a pointer; glibc falls back to clone when it is told that clone3 does not exist.
    program += _deny_number(_CLONE3[column], errno.ENOSYS)
    if allow_processes:
        # A child that ends with SIGCONT would wake its parent, which may have been stopped before it.
        ends = _require(_ARGUMENT_AT, (0, _SIGCHLD), mask=_EXIT_SIGNAL)
        program += _when(_CLONE[column], [argument, (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACE), _deny(), *ends, allow])
    else:
        program += _when(_CLONE[column], [argument, (_JUMP_ANY_BIT, 1, 0, kernel.CLONE_THREAD), _deny(), allow])
    options = _deny_values(_ARGUMENT_AT, (kernel.PR_SET_PDEATHSIG, kernel.PR_SET_DUMPABLE))
    program += _when(_PRCTL[column], options)
    # Of no bytes, or with what is moved left in place, it makes a second mapping of shared pages, such as the judge's.
    of_some = [(_LOAD, 0, 0, _SECOND_ARGUMENT_AT), (_JUMP_EQUAL, 0, 3, 0)]
    of_some += [(_LOAD, 0, 0, _SECOND_ARGUMENT_AT + _UPPER_HALF), (_JUMP_EQUAL, 0, 1, 0), _deny(errno.EINVAL)]
    moved = [(_LOAD, 0, 0, _FOURTH_ARGUMENT_AT), (_JUMP_ANY_BIT, 0, 1, _MREMAP_DONTUNMAP), _deny(errno.EINVAL)]
    program += _when(_MREMAP[column], [*of_some, *moved, allow])
    program += _when(_MADVISE[column], _deny_values(_THIRD_ARGUMENT_AT, (_MADV_REMOVE, _MADV_COLLAPSE)))
    in_place = _require(_SECOND_ARGUMENT_AT, (0,), code=errno.EOPNOTSUPP)
    program += _when(_FALLOCATE[column], [*in_place, allow])
    program += _when(_FCNTL[column], _deny_values(_SECOND_ARGUMENT_AT, (*_SET_OWNER_OR_SIGNAL, _SET_LEASE, _NOTIFY)))
    program += _when(_IOCTL[column], _deny_values(_SECOND_ARGUMENT_AT, _SET_OWNER))
    # One end of a pair of datagram sockets, which raw ones are too, can send to any socket that has a name.
    connected = _require(_SECOND_ARGUMENT_AT, (_STREAM, _SEQPACKET), mask=_SOCKET_TYPE)
    program += _when(_SOCKETPAIR[column], [*_require(_ARGUMENT_AT, (_AF_UNIX,)), *connected, allow])
    if (number := _MKNOD[column]) is not None:
        program += _when(number, [*_require(_SECOND_ARGUMENT_AT, _NODES, mask=_NODE_TYPE), allow])
    program += _when(_MKNODAT[column], [*_require(_THIRD_ARGUMENT_AT, _NODES, mask=_NODE_TYPE), allow])
    program += _when(_SETRLIMIT[column], _deny_values(_ARGUMENT_AT, (_LIMIT_OF_DUMPS,)))
    whose = [] if may_signal_only is None else _only_to(may_signal_only)
    program += _when(_PRLIMIT64[column], [*whose, *_keep_limit_of_dumps(), allow])
    if may_signal_only is not None:
        program += _only_oneself(column, may_signal_only)
    if allow_unix_sockets:
        program += _when(_SOCKET[column], [*_require(_ARGUMENT_AT, (_AF_UNIX,)), allow])
    else:
        program += _deny_number(_SOCKET[column])
    return [*program, allow]


def _only_oneself(column: int, process: int) -> list[Instruction]:
    """Signals and priorities: to `process` itself, whatever else can be seen."""
    allow = (_RETURN, 0, 0, _ALLOW)
    program = _deny_number(_PIDFD_SEND_SIGNAL[column])
    for numbers in _SIGNALLING.values():
        if (number := numbers[column]) is not None:
            program += _when(number, [*_only_to(process), allow])
    for both, kind in _PRIORITIES.values():
        itself = [*_require(_ARGUMENT_AT, (kind,)), *_require(_SECOND_ARGUMENT_AT, (process, 0))]
        program += _when(both[column], [*itself, allow])
    return program


def install(*, allow_processes: bool, allow_unix_sockets: bool, may_signal_only: int | None = None) -> None:
    """Filter this process and all its children for good. Raises OSError or KeyError where it cannot."""
    if kernel.MACHINE not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no filter for {kernel.MACHINE}")
    instructions = assemble(
        allow_processes=allow_processes, allow_unix_sockets=allow_unix_sockets, may_signal_only=may_signal_only
    )
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(instructions), ctypes.cast(buffer, ctypes.c_void_p))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.byref(program))
