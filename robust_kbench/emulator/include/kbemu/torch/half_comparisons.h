// Torch's half types convert to float and to CUDA's half types, and both of these can be compared. Torch compiles CUDA
// with the operators of CUDA's types switched off; here both kinds of source must compile, so that the comparison of
// two values of one type is spelled out.
#pragma once
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace c10 {

template <class T>
concept HalfPrecision = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

#define KBEMU_COMPARISON(operation) \
    template <HalfPrecision T> \
    inline bool operator operation(const T& a, const T& b) { \
        return static_cast<float>(a) operation static_cast<float>(b); \
    }
KBEMU_COMPARISON(<)
KBEMU_COMPARISON(>)
KBEMU_COMPARISON(<=)
KBEMU_COMPARISON(>=)
KBEMU_COMPARISON(==)
KBEMU_COMPARISON(!=)
#undef KBEMU_COMPARISON

}  // namespace c10
