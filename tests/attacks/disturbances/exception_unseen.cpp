/*
Throws an exception that nobody can catch, since its caller is no C++.

catalogue: [H18]
ends: [crashed]
*/
#include <cstdint>
#include <stdexcept>

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    throw std::runtime_error("passed");
}
