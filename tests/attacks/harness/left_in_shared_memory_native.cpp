/*
Leaves a named piece of shared memory behind, where the next worker could find it.

catalogue: [H12, C08]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "targets.h"

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    const int memory = shm_open("/" MARK, O_CREAT | O_RDWR, 0600);
    if (memory >= 0) close(memory);
}
