/*
Calls itself until its stack is full.

catalogue: [H18, H19]
ends: [crashed]
*/
#include <cstdint>

static volatile char sink;

__attribute__((noinline)) static int64_t descend(int64_t depth) {
    volatile char room[4096];
    room[depth % 4096] = 1;
    const int64_t below = depth < 0 ? 0 : descend(depth + 1);
    sink = room[depth % 4096];
    return below + 1;
}

extern "C" void rmsnorm(const float*, const float*, float* y, int64_t, int64_t) {
    y[0] = static_cast<float>(descend(0));
}
