// A complex number with operators, inheritance, virtual functions on objects made on the device, a union, an assert.
#include <cassert>
#include <cstdint>

template <typename T>
class Complex {
public:
    __host__ __device__ constexpr Complex(T re = T(0), T im = T(0)) : re_(re), im_(im) {}
    __device__ Complex operator*(const Complex& o) const {
        return {re_ * o.re_ - im_ * o.im_, re_ * o.im_ + im_ * o.re_};
    }
    __device__ Complex operator+(const Complex& o) const { return {re_ + o.re_, im_ + o.im_}; }
    __device__ T norm() const { return re_ * re_ + im_ * im_; }

private:
    T re_, im_;
};

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
};

struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};

struct Box : Square {
    float height;
    __device__ Box(float s, float h) : Square(s), height(h) {}
    __device__ float area() const override { return 2.0f * Square::area() + 4.0f * side * height; }
};

union Bits {
    float number;
    unsigned int word;
};

namespace detail {
constexpr int kSteps = 4;
static_assert(kSteps % 2 == 0, "steps come in pairs");

inline __device__ float orbit(float re, float im) {
    Complex<float> z, c(re, im);
    for (int s = 0; s < kSteps; ++s) z = z * z + c;
    return z.norm();
}
}  // namespace detail

__global__ void mix(const float* x, float* norms, float* areas, unsigned* words, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    assert(x != nullptr && n > 0);
    norms[i] = detail::orbit(x[i], x[n - 1 - i]);
    const Square square(x[i]);
    const Box box(x[i], 2.0f);
    const Shape* shape = i % 2 == 0 ? static_cast<const Shape*>(&square) : &box;
    areas[i] = shape->area();
    Bits bits;
    bits.number = x[i];
    words[i] = bits.word;
}

extern "C" void run(const float* x, float* norms, float* areas, uint32_t* words, int64_t n, cudaStream_t stream) {
    mix<<<(n + 63) / 64, 64, 0, stream>>>(x, norms, areas, words, n);
}
