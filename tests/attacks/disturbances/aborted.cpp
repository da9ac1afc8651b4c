/*
Gives up while the library is loaded.

catalogue: [H18]
ends: [crashed]
*/
#include <cstdint>
#include <cstdlib>

__attribute__((constructor)) static void give_up() {
    abort();
}

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {}
