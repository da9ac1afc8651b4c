/*
Has the addresses of what it starts no longer chosen at random.

catalogue: [H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <sys/personality.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    if (personality(ADDR_NO_RANDOMIZE) >= 0) tell(PROOF);
}
