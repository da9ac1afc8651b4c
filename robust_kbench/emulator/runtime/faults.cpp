#include "faults.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <string>
#include <vector>

#include "engine.h"
#include "module.h"

namespace kbemu {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};
constexpr std::size_t kSignalStackBytes = 64 << 10;

struct sigaction previous[sizeof kSignals / sizeof kSignals[0]];
itimerval previous_timer;

const void* counter_of(void* context) {
    const auto* user = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(user->uc_mcontext.gregs[REG_RIP]);
#else
    return reinterpret_cast<const void*>(user->uc_mcontext.pc);
#endif
}

void tell(int signal, const siginfo_t* info, const Place& place) {
    if (signal == SIGPROF) {
        report("work_limit", "the kernel used " + std::to_string(settings.cpu_seconds) +
                                 " s of processor time without an end", place);
    } else if (signal == SIGFPE) {
        report("integer_division", "an integer division by zero, or one whose result does not fit", place);
    } else if (engine->fibre().guards(info->si_addr)) {
        report("local_memory", "the thread's local memory (128 KiB) is exhausted: endless recursion or a large array",
               place);
    } else if (signal == SIGILL) {
        report("trap", "an illegal instruction", place);
    } else if (info->si_code == SI_KERNEL || info->si_code == BUS_ADRALN) {
        report("misaligned_access", "an access of 16 or 32 bytes at an address that is not aligned to it", place);
    } else {
        report("out_of_bounds_global", "an access to an address that no tensor and no allocation has", place);
    }
}

// The interrupted fibre is never resumed, so that nothing it holds matters any more.
void handle(int signal, siginfo_t* info, void* context) {
    if (!engine || !self) {
        if (signal == SIGPROF) return;
        struct sigaction fallback {};
        fallback.sa_handler = SIG_DFL;
        sigaction(signal, &fallback, nullptr);
        return;
    }
    // Inside the runtime library the thread's last barrier or atomic says more than our own code's address.
    const void* counter = counter_of(context);
    tell(signal, info, belongs_to_kernel_module(counter) ? Place::at(counter) : engine->current().arrival.place);
    sigset_t unblocked;
    sigemptyset(&unblocked);
    sigaddset(&unblocked, signal);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
    engine->abort(signal == SIGPROF ? kErrorLaunchTimeout : kErrorIllegalAddress);
}

}  // namespace

void prepare_signal_stack() {
    thread_local std::vector<char> memory(kSignalStackBytes);
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
}

FaultGuard::FaultGuard() {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    std::size_t i = 0;
    for (const int signal : kSignals) sigaction(signal, &action, &previous[i++]);
    const itimerval limit{{1, 0}, {static_cast<time_t>(settings.cpu_seconds), 0}};
    setitimer(ITIMER_PROF, &limit, &previous_timer);
}

FaultGuard::~FaultGuard() {
    setitimer(ITIMER_PROF, &previous_timer, nullptr);
    std::size_t i = 0;
    for (const int signal : kSignals) sigaction(signal, &previous[i++], nullptr);
}

}  // namespace kbemu
