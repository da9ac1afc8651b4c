// Comparisons and selections.
#pragma once
#include "kbemu/ptx/bits.h"
#include "kbemu/ptx/formats.h"

namespace kbemu::ptx {

// A NaN among the operands makes eq … ge false and equ … geu true; lo, ls, hi, hs are for unsigned integers.
#define KBEMU_PTX_COMPARISON(NAME, RESULT)             \
    struct NAME {                                      \
        template <class T>                             \
        bool operator()(T a, T b) const {              \
            [[maybe_unused]] const bool unordered = a != a || b != b; \
            return RESULT;                             \
        }                                              \
    };

KBEMU_PTX_COMPARISON(eq, a == b)
KBEMU_PTX_COMPARISON(ne, a != b && !unordered)
KBEMU_PTX_COMPARISON(lt, a < b)
KBEMU_PTX_COMPARISON(le, a <= b)
KBEMU_PTX_COMPARISON(gt, a > b)
KBEMU_PTX_COMPARISON(ge, a >= b)
KBEMU_PTX_COMPARISON(lo, a < b)
KBEMU_PTX_COMPARISON(ls, a <= b)
KBEMU_PTX_COMPARISON(hi, a > b)
KBEMU_PTX_COMPARISON(hs, a >= b)
KBEMU_PTX_COMPARISON(equ, a == b || unordered)
KBEMU_PTX_COMPARISON(neu, a != b)
KBEMU_PTX_COMPARISON(ltu, a < b || unordered)
KBEMU_PTX_COMPARISON(leu, a <= b || unordered)
KBEMU_PTX_COMPARISON(gtu, a > b || unordered)
KBEMU_PTX_COMPARISON(geu, a >= b || unordered)
KBEMU_PTX_COMPARISON(num, !unordered)
KBEMU_PTX_COMPARISON(nan, unordered)

#undef KBEMU_PTX_COMPARISON

template <class Compare, class T>
inline bool compare(T a, T b) {
    if constexpr (Half<T>) {
        return Compare()(widen(a), widen(b));
    } else {
        return Compare()(a, b);
    }
}

// The second destination of setp gets the opposite.
template <class Compare, class T>
inline WithPredicate<pred> setp(T a, T b) {
    const bool result = compare<Compare>(a, b);
    return {result, !result};
}

template <class Compare, class Combine, class T>
inline WithPredicate<pred> setp(T a, T b, pred c) {
    const bool result = compare<Compare>(a, b);
    return {Combine()(result, c), Combine()(!result, c)};
}

// Of pairs, the destinations get the low and the high result.
template <class Compare, Pair T>
inline WithPredicate<pred> setp(T a, T b) {
    return {compare<Compare>(a.low, b.low), compare<Compare>(a.high, b.high)};
}

template <class Compare, class Combine, Pair T>
inline WithPredicate<pred> setp(T a, T b, pred c) {
    return {Combine()(compare<Compare>(a.low, b.low), c), Combine()(compare<Compare>(a.high, b.high), c)};
}

// True is 1.0 or all ones.
template <class Truth>
inline Truth truth(bool holds) {
    if constexpr (std::is_floating_point_v<Truth>) return holds;
    return static_cast<Truth>(holds ? ~0u : 0u);
}

template <class Compare, class Truth, class T>
inline Truth set_if(T a, T b) {
    return truth<Truth>(compare<Compare>(a, b));
}

template <class Compare, class Truth, class Combine, class T>
inline Truth set_if(T a, T b, pred c) {
    return truth<Truth>(Combine()(compare<Compare>(a, b), c));
}

template <class T>
inline T selp(T a, T b, pred c) {
    return c ? a : b;
}

template <class T, class Selector>
inline T slct(T a, T b, Selector c) {
    return c >= 0 ? a : b;
}

}  // namespace kbemu::ptx
