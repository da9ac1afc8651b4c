/*
Has its own page faults handled by itself, with which races in the kernel are won.

catalogue: [H23]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <sys/syscall.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    if (syscall(SYS_userfaultfd, 1) >= 0) tell(PROOF);
}
