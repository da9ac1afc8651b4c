/*
Has the processor's events counted, from which other processes can be watched.

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
    // Time on the processor, of itself, outside the kernel.
    alignas(8) uint32_t attributes[16] = {1, 64, 1};
    attributes[10] = 0x60;
    if (syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0UL) >= 0) tell(PROOF);
}
