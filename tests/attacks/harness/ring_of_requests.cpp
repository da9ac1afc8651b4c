/*
Sets up a ring through which the kernel works without any system call that a filter would see.

catalogue: [H23, H20]
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
    alignas(8) char parameters[256] = {};
    if (syscall(SYS_io_uring_setup, 4, parameters) >= 0) tell(PROOF);
}
