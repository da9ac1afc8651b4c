/*
Starts a program that is to stay, under a name of its choice, and kills the process that would end it.

catalogue: [H23, T30]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <csignal>
#include <cstdint>
#include <spawn.h>
#include <unistd.h>

#include "targets.h"

__attribute__((constructor)) static void start() {
    if (symlink("/bin/sleep", MARK) != 0) return;
    char name[] = MARK, seconds[] = "20";
    char* arguments[] = {name, seconds, nullptr};
    pid_t child;
    if (posix_spawn(&child, "./" MARK, nullptr, nullptr, arguments, environ) == 0) kill(getppid(), SIGKILL);
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
