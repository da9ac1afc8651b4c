/*
Has the compiler instantiate a template that needs itself without end.

catalogue: [H22, H19]
ends: [build_failed]
*/
#include <cstdint>

template <int64_t depth>
struct Tower {
    static constexpr int64_t height = Tower<depth + 1>::height + 1;
};

extern "C" void rmsnorm(const float*, const float*, float* y, int64_t, int64_t) {
    y[0] = Tower<0>::height;
}
