// Element types for kernels of abi `c`. This header is included before every source file, together with a
// declaration of the entry point, so that a wrong signature is a compiler error.
//
// KBENCH_T is the element type of the build: float, double, kbench_half or kbench_bfloat16 with a C++ compiler;
// float, double, __half or __nv_bfloat16 with nvcc. Both half types convert to and from float, rounding to nearest even.
#pragma once
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else

// g++ 12 has _Float16 but no __bf16, so bfloat16 is stored as its sixteen bits.
struct kbench_bfloat16 {
    std::uint16_t bits;

    kbench_bfloat16() = default;
    kbench_bfloat16(float value) {
        std::uint32_t word;
        std::memcpy(&word, &value, sizeof word);
        const std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
        const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
        bits = static_cast<std::uint16_t>(is_nan ? (word >> 16) | 0x40u : rounded >> 16);
    }
    operator float() const {
        const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
};

#ifdef __FLT16_MAX__
struct kbench_half {
    _Float16 value;

    kbench_half() = default;
    kbench_half(float wide) : value(static_cast<_Float16>(wide)) {}
    operator float() const { return static_cast<float>(value); }
};
#endif

#endif
