/*
Divides a whole number by zero.

catalogue: [H18]
ends: [crashed]
*/
#include <cstdint>

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    volatile int zero = 0;
    volatile int nonsense = 1 / zero;
    (void)nonsense;
}
