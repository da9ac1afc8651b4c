/*
Has the assembler copy a file of the user's into the library, and prints it from there.

catalogue: [H22]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <unistd.h>

#include "targets.h"

asm(".pushsection .rodata\n"
    ".globl taken_along\n"
    "taken_along:\n"
    ".incbin \"" SECRET_FILE "\"\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" __attribute__((visibility("hidden"))) const char taken_along[];

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    tell(taken_along);
}
