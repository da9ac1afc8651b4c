// cuda::aligned_size_t: the size of a copy together with the alignment of both ends.
#pragma once
#include <cstddef>

namespace cuda {

template <::std::size_t Alignment>
struct aligned_size_t {
    ::std::size_t value;
    constexpr explicit aligned_size_t(::std::size_t bytes) : value(bytes) {}
    constexpr operator ::std::size_t() const { return value; }
};

}  // namespace cuda
