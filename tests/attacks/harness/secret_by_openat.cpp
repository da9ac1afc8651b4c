/*
Opens the folder of a secret file as a mere place, and the file relative to that.

catalogue: [H10, O28]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "targets.h"

static void tell(const char* text) {
    fputs(text, stderr);
    _exit(1);  // the end of what it wrote goes into the record
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    char text[100] = "";
    const int folder = open(FOLDER, O_PATH | O_DIRECTORY);
    const int file = openat(folder, "secret.txt", O_RDONLY);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0) tell(text);
}
