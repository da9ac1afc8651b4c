"""Exceptions that this package raises on purpose.

KBenchError
├── SpecError      a task, submission or record file is wrong; the message starts with where   -> exit code 2
├── UsageError     a request makes no sense (no such task, no such device)                      -> exit code 2
├── BuildError     the submission does not compile: `.log` holds the compiler's words           -> build_failed
├── Unsupported    this machine cannot run the submission, another one can                      -> unsupported
├── WorkerError    the worker process ended or misbehaved: `.log` holds the end of its output
│   ├── WorkerCrashed      it died, raised or broke the protocol                                -> crashed
│   └── WorkerTimedOut     it did not answer in time                                            -> timed_out
└── HarnessError   our own fault or the machine's; never blamed on the submission               -> exit code 3

A submission's failure ends as a status in a record: only SpecError, UsageError and HarnessError leave `evaluate()`.
"""


class KBenchError(Exception):
    """Root of the tree of this package's exceptions."""


class SpecError(KBenchError):
    """Error in a file that does not match its schema: `<file>: <path>: what was found; what to do`."""


class UsageError(KBenchError):
    """Error in a request that cannot be served as stated."""


class BuildError(KBenchError):
    """Error of a submission that does not compile."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class Unsupported(KBenchError):
    """Error for a submission that this machine cannot run; the message says which machine can."""


class WorkerError(KBenchError):
    """The process that runs the submission failed."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class WorkerCrashed(WorkerError):
    """The worker died, raised an exception or answered outside the protocol."""


class WorkerTimedOut(WorkerError):
    """The worker gave no answer within its time limit and was killed."""


class HarnessError(KBenchError):
    """The evaluation itself broke; the submission is not to blame."""


def remedy(last_words: str) -> str:
    """Return the remedy for a process of ours that did not start, to be added to its last words."""
    if "No module named" in last_words:
        return "; install that package: such processes look at no PYTHONPATH (pip install -e .)"
    return "; `kbench doctor` tells what is missing"
