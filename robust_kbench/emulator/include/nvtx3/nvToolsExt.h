// Marks for NVIDIA's profilers: accepted and forgotten.
#pragma once

typedef unsigned long long nvtxRangeId_t;

inline void nvtxMarkA(const char*) {}
inline int nvtxRangePushA(const char*) {
    return 0;
}
inline int nvtxRangePop() {
    return 0;
}
inline nvtxRangeId_t nvtxRangeStartA(const char*) {
    return 0;
}
inline void nvtxRangeEnd(nvtxRangeId_t) {}
#define nvtxMark nvtxMarkA
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
