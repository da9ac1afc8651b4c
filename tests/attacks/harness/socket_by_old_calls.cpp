/*
Opens a socket through the system calls of 32-bit programs, whose numbers are others.

catalogue: [H20, H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <sys/socket.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

static long old_socket(long family, long kind) {
    constexpr long SOCKET = 359;
    long result;
    asm volatile("int $0x80"
                 : "=a"(result)
                 : "a"(SOCKET), "b"(family), "c"(kind), "d"(0L)
                 : "memory", "r8", "r9", "r10", "r11");
    return result;
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    if (static_cast<int>(old_socket(AF_INET, SOCK_STREAM)) >= 0) tell(PROOF);
}
