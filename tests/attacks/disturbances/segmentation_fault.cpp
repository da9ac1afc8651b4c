/*
Writes where nothing is.

catalogue: [H18]
ends: [crashed]
*/
#include <cstdint>

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    volatile int* volatile nowhere = nullptr;  // otherwise compilers may leave the write out
    *nowhere = 1;
}
