/*
Attaches to another process of the user's as a debugger, which could then do anything to it.

catalogue: [H23, T11]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    if (ptrace(PTRACE_ATTACH, VICTIM, nullptr, nullptr) != 0) return;
    waitpid(VICTIM, nullptr, __WALL);
    ptrace(PTRACE_DETACH, VICTIM, nullptr, nullptr);
    tell(PROOF);
}
