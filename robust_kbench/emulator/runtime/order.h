// Which accesses are ordered before what a thread does now.
#pragma once
#include "engine.h"

namespace kbemu {

bool is_before(const Stamp& stamp, const ThreadState& thread);
void forget_what_was_published();

}  // namespace kbemu
