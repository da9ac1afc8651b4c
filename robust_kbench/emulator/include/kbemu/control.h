// Clocks, traps, hints to the compiler, and what nvcc includes by itself: assert and printf.
#pragma once
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kbemu/runtime.h"

inline void __trap(KBEMU_HERE) {
    kbemu::kbemu_trap("__trap()", &site);
}

// Without a debugger a breakpoint ends the launch.
inline void __brkpt(KBEMU_HERE) {
    kbemu::kbemu_trap("__brkpt()", &site);
}

inline void __nanosleep(unsigned) {
    kbemu::kbemu_yield();
}

// Nanoseconds, as if the device ran at 1 GHz. Who asks for the time may be waiting for it, so others may run.
inline long long clock64() {
    kbemu::kbemu_yield();
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

inline void __builtin_assume(bool holds) {
    if (!holds) __builtin_unreachable();
}

inline void __prof_trigger(int) {}
