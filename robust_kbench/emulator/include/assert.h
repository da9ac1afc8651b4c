// assert() in a kernel ends the launch with cudaErrorAssert; on the host it is the C library's. As in the C library,
// the file may be included again after a change of NDEBUG, so it has no guard.
#include_next <assert.h>

#ifndef NDEBUG
#include "kbemu/assertion.h"
#undef assert
#define assert(expression) ((expression) ? static_cast<void>(0) : ::kbemu::assertion_failed(#expression))
#endif
