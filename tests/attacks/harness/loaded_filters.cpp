/*
Makes a map for programs that run inside the kernel.

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
    alignas(8) uint32_t attributes[32] = {2, 4, 8, 1};  // an array of one value of eight bytes
    if (syscall(SYS_bpf, 0, attributes, 120UL) >= 0) tell(PROOF);
}
