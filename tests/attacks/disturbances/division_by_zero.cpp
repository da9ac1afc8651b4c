/*
Divides a whole number by zero.

catalogue: [H18]
ends: [crashed]
*/
#include <cstdint>

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    volatile int zero = 0;
    volatile int nonsense = 7 / zero;  // a compiler knows what 1 / n is
    (void)nonsense;
}
