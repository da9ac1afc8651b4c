/*
Asks the preprocessor whether a file of the user's can be opened, and tells the answer by a failing build.

catalogue: [H22]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstdint>

#include "targets.h"

#if __has_include(SECRET_FILE)
static_assert(sizeof(int64_t) == 1, PROOF);
#endif

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
