// Exports functions of numbers as functions of arrays, for ctypes.
#pragma once
#include <cstdint>

#define ONE(name, Result, A, expression)                                              \
    extern "C" void name(const A* as, Result* results, std::int64_t size) {           \
        for (std::int64_t i = 0; i < size; ++i) {                                     \
            const A a = as[i];                                                        \
            results[i] = expression;                                                  \
        }                                                                             \
    }

#define TWO(name, Result, A, B, expression)                                                       \
    extern "C" void name(const A* as, const B* bs, Result* results, std::int64_t size) {          \
        for (std::int64_t i = 0; i < size; ++i) {                                                 \
            const A a = as[i];                                                                    \
            const B b = bs[i];                                                                    \
            results[i] = expression;                                                              \
        }                                                                                         \
    }

#define THREE(name, Result, A, B, C, expression)                                                             \
    extern "C" void name(const A* as, const B* bs, const C* cs, Result* results, std::int64_t size) {        \
        for (std::int64_t i = 0; i < size; ++i) {                                                            \
            const A a = as[i];                                                                               \
            const B b = bs[i];                                                                               \
            const C c = cs[i];                                                                               \
            results[i] = expression;                                                                         \
        }                                                                                                    \
    }
