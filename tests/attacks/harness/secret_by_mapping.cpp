/*
Maps a file of the user's into memory while the library is loaded, and tells what lies there.

catalogue: [H10, O28]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

__attribute__((constructor)) static void look() {
    const int file = open(SECRET_FILE, O_RDONLY);
    if (file < 0) return;
    void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);  // zero behind the end of the file
    if (memory != MAP_FAILED) tell(static_cast<const char*>(memory));
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
