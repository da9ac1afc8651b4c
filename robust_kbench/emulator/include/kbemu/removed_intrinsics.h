// Warp intrinsics without a mask, which no device since compute capability 7.0 has. The message says what to write.
#pragma once

namespace kbemu {
template <class...>
constexpr bool kExists = false;
}  // namespace kbemu

#define KBEMU_REMOVED(NAME)                                                                              \
    template <class... Arguments>                                                                        \
    inline int NAME(Arguments...) {                                                                      \
        static_assert(kbemu::kExists<Arguments...>,                                                      \
                      #NAME " does not exist for compute capability 7.0 and above: use " #NAME "_sync"); \
        return 0;                                                                                        \
    }

KBEMU_REMOVED(__shfl)
KBEMU_REMOVED(__shfl_up)
KBEMU_REMOVED(__shfl_down)
KBEMU_REMOVED(__shfl_xor)
KBEMU_REMOVED(__any)
KBEMU_REMOVED(__all)
KBEMU_REMOVED(__ballot)
