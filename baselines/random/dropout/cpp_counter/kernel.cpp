// Dropout (Srivastava et al. 2014) with a counter-based generator: splitmix64 of the seed and the element's place.
namespace {

uint64_t mixed(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

}  // namespace

extern "C" void dropout(const KBENCH_T* x, double p, int64_t seed, KBENCH_T* y, int64_t rows, int64_t cols) {
    const uint64_t key = mixed(static_cast<uint64_t>(seed) + 0x9e3779b97f4a7c15u);
    const uint64_t threshold = static_cast<uint64_t>(p * 0x1p32);
    const float scale = static_cast<float>(1.0 / (1.0 - p));
    for (int64_t i = 0; i < rows * cols; ++i) {
        const uint64_t drawn = mixed(key + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u) >> 32;
        y[i] = drawn >= threshold ? static_cast<float>(x[i]) * scale : 0.0f;
    }
}
