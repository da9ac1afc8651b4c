// Which expressions with 16-bit numbers compile, and their types, are those that nvcc accepts.
#include <type_traits>

#include "kbemu/bf16.h"
#include "kbemu/integers.h"

template <class A, class B>
concept Multiplies = requires(A a, B b) { a * b; };

template <class A, class B>
concept Accumulates = requires(A a, B b) { a += b; };

template <class A>
concept ConvertsToFloat = std::is_convertible_v<A, float> && std::is_convertible_v<float, A>;

union Shared {
    __half2 pairs[4];
    __nv_bfloat16 numbers[16];
    float4 vector;
};

static_assert(std::is_trivially_default_constructible_v<Shared> && sizeof(Shared) == 32);
static_assert(std::is_trivially_copyable_v<__half2> && alignof(__half2) == 4);
constexpr __half kOne = __ushort_as_half(0x3C00);

// Ambiguous: either operand could be converted.
static_assert(!Multiplies<__half, float> && !Multiplies<int, __nv_bfloat16> && !Multiplies<__half, __nv_bfloat16>);
static_assert(!Multiplies<__half2, __half>);
static_assert(!std::is_convertible_v<__half, __nv_bfloat16> && !std::is_convertible_v<__half2, float>);
static_assert(std::is_same_v<decltype(__hadd(1.0f, 2.0f)), int>);  // the average of integers, as in CUDA

#ifdef __CUDA_NO_HALF_OPERATORS__

// Users may then define their own.
struct Product {};
inline Product operator*(__half, __half) { return {}; }
inline Product operator*(__nv_bfloat16, __nv_bfloat16) { return {}; }
static_assert(std::is_same_v<decltype(kOne * kOne), Product>);
static_assert(!Accumulates<__half, __half> && !ConvertsToFloat<__half> && !ConvertsToFloat<__nv_bfloat16>);

#else

static_assert(std::is_same_v<decltype(kOne * kOne), __half>);
static_assert(Multiplies<__half2, __half2> && Multiplies<__nv_bfloat162, __nv_bfloat162>);
static_assert(Accumulates<__half, float> && Accumulates<__nv_bfloat16, int> && !Accumulates<float, __half>);
static_assert(ConvertsToFloat<__half> && ConvertsToFloat<__nv_bfloat16>);
static_assert(std::is_convertible_v<long, __half> && std::is_convertible_v<__half, unsigned char>);
static_assert(std::is_constructible_v<__half, __nv_bfloat16> && std::is_constructible_v<__nv_bfloat16, __half>);
static_assert(std::is_same_v<decltype(__hmul(kOne, 2.0f)), __half>);
static_assert(std::is_same_v<decltype(expf(kOne)), float>);

#endif
