/*
Includes itself without end.

catalogue: [H22, H19]
ends: [build_failed]
*/
#include <cstdint>

#include __FILE__

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
