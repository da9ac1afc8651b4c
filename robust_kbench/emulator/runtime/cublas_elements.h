// Elements of matrices in memory, and the type in which they are summed.
#pragma once
#include <bit>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "kbemu/cublas_types.h"

namespace kbemu::cublas {

#if !defined(__aarch64__) || __GNUC__ >= 13
using Half = _Float16;
#else
using Half = __fp16;  // g++ 12 on aarch64 has no _Float16
#endif

struct Bfloat16 {
    std::uint16_t bits;

    Bfloat16() = default;
    explicit Bfloat16(float value) {
        const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
        bits = static_cast<std::uint16_t>(value == value ? rounded : 0x7fff);
    }
    operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

inline std::size_t size_of(cudaDataType type) {
    switch (type) {
        case CUDA_R_64F: return 8;
        case CUDA_R_32F:
        case CUDA_R_32I: return 4;
        case CUDA_R_16F:
        case CUDA_R_16BF: return 2;
        default: return 1;
    }
}

// Calls use(pointer) with `data` as a pointer to elements of `type`. False for a type that products do not have.
template <class Pointer, class Use>
inline bool with_elements(Pointer data, cudaDataType type, Use use) {
    constexpr bool constant = std::is_const_v<std::remove_pointer_t<Pointer>>;
    const auto as = [&]<class T>(T*) { use(reinterpret_cast<std::conditional_t<constant, const T*, T*>>(data)); };
    switch (type) {
        case CUDA_R_32F: as(static_cast<float*>(nullptr)); return true;
        case CUDA_R_64F: as(static_cast<double*>(nullptr)); return true;
        case CUDA_R_16F: as(static_cast<Half*>(nullptr)); return true;
        case CUDA_R_16BF: as(static_cast<Bfloat16*>(nullptr)); return true;
        case CUDA_R_8I: as(static_cast<std::int8_t*>(nullptr)); return true;
        case CUDA_R_32I: as(static_cast<std::int32_t*>(nullptr)); return true;
        default: return false;
    }
}

// Whether the range leaves the allocation that it starts in; then it is reported.
inline bool leaves_allocation(const void* data, std::size_t bytes, const char* matrix, const Site& site) {
    if (!bytes || !kbemu_is_device_memory(data, 1) || kbemu_is_device_memory(data, bytes)) return false;
    char message[120];
    std::snprintf(
        message, sizeof message, "cuBLAS is told of %zu bytes in %s, more than the allocation has left", bytes, matrix);
    kbemu_finding("out_of_bounds_global", message, &site);
    return true;
}

// Bytes from the first to the last element of a matrix stored by column.
inline std::size_t extent(long long rows, long long columns, long long leading, std::size_t size) {
    return rows > 0 && columns > 0 ? ((columns - 1) * leading + rows) * size : 0;
}

inline void tell_of_write(const void* data, std::size_t bytes) {
    if (bytes && kbemu_is_device_memory(data, bytes)) kbemu_host_wrote(data, bytes);
}

}  // namespace kbemu::cublas
