// What a failed assert() does.
#pragma once
#include "kbemu/runtime.h"

namespace kbemu {

[[noreturn]] inline void assertion_failed(const char* expression, KBEMU_HERE) {
    if (!self) __assert_fail(expression, site.file_name(), site.line(), site.function_name());
    kbemu_trap(expression, &site);
}

}  // namespace kbemu
