// Instructions by which the lanes of a warp talk to each other, and special registers.
#include <cstdint>

constexpr unsigned FULL = 0xffffffffu;

struct Up {
    static constexpr unsigned last = 0;
    __device__ static void shuffle(unsigned& value, unsigned& valid, unsigned own, unsigned operand, unsigned c) {
        asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }"
                     : "=r"(value), "=r"(valid) : "r"(own), "r"(operand), "r"(c), "r"(FULL));
    }
};
struct Down {
    static constexpr unsigned last = 31;
    __device__ static void shuffle(unsigned& value, unsigned& valid, unsigned own, unsigned operand, unsigned c) {
        asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }"
                     : "=r"(value), "=r"(valid) : "r"(own), "r"(operand), "r"(c), "r"(FULL));
    }
};
struct Butterfly {
    static constexpr unsigned last = 31;
    __device__ static void shuffle(unsigned& value, unsigned& valid, unsigned own, unsigned operand, unsigned c) {
        asm volatile("{ .reg .pred p; shfl.sync.bfly.b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }"
                     : "=r"(value), "=r"(valid) : "r"(own), "r"(operand), "r"(c), "r"(FULL));
    }
};
struct Index {
    static constexpr unsigned last = 31;
    __device__ static void shuffle(unsigned& value, unsigned& valid, unsigned own, unsigned operand, unsigned c) {
        asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }"
                     : "=r"(value), "=r"(valid) : "r"(own), "r"(operand), "r"(c), "r"(FULL));
    }
};

// For each width 1, 2, ... 32 and each operand: what was read, and whether the lane was inside the segment.
template <class Mode>
__global__ void shuffles(unsigned* values, unsigned* valid) {
    const unsigned lane = threadIdx.x;
    for (unsigned bits = 0; bits < 6; ++bits) {
        const unsigned segments = (32 - (1u << bits)) << 8 | Mode::last;
        for (unsigned operand = 0; operand < 34; ++operand) {
            const unsigned at = (bits * 34 + operand) * 32 + lane;
            Mode::shuffle(values[at], valid[at], 100 + lane, operand, segments);
        }
    }
}

extern "C" void run_shuffles(unsigned* values, unsigned* valid) {
    constexpr int each = 6 * 34 * 32;
    shuffles<Up><<<1, 32>>>(values, valid);
    shuffles<Down><<<1, 32>>>(values + each, valid + each);
    shuffles<Butterfly><<<1, 32>>>(values + 2 * each, valid + 2 * each);
    shuffles<Index><<<1, 32>>>(values + 3 * each, valid + 3 * each);
}

__device__ unsigned voted(const char kind, unsigned predicate, unsigned mask) {
    unsigned result = 9;
    if (kind == 'a') {
        asm volatile("{ .reg .pred p, q; setp.ne.u32 q, %1, 0; vote.sync.all.pred p, q, %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(result) : "r"(predicate), "r"(mask));
    } else if (kind == 'y') {
        asm volatile("{ .reg .pred p, q; setp.ne.u32 q, %1, 0; vote.sync.any.pred p, !q, %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(result) : "r"(predicate), "r"(mask));
    } else if (kind == 'u') {
        asm volatile("{ .reg .pred p, q; setp.ne.u32 q, %1, 0; vote.sync.uni.pred p, q, %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(result) : "r"(predicate), "r"(mask));
    } else {
        asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
                     : "=r"(result) : "r"(predicate), "r"(mask));
    }
    return result;
}

// The upper half of the warp takes no part.
__global__ void votes(const unsigned* predicates, unsigned* out) {
    if (threadIdx.x >= 16) return;
    const char kinds[] = {'a', 'y', 'u', 'b'};
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = voted(kinds[i], predicates[threadIdx.x], 0xffff);
}

extern "C" void run_votes(const unsigned* predicates, unsigned* out) { votes<<<1, 32>>>(predicates, out); }

__global__ void reductions(const unsigned* in, unsigned* out) {
    const unsigned own = in[threadIdx.x];
    unsigned* to = out + 12 * threadIdx.x;
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(to[0]) : "r"(own), "r"(FULL));
    asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(to[1]) : "r"(own), "r"(FULL));
    asm volatile("redux.sync.max.s32 %0, %1, %2;" : "=r"(to[2]) : "r"(own), "r"(FULL));
    asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(to[3]) : "r"(own), "r"(FULL));
    asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(to[4]) : "r"(own), "r"(FULL));
    asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(to[5]) : "r"(own), "r"(FULL));
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(to[6]) : "r"(own % 3), "r"(FULL));
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                 : "=r"(to[7]), "=r"(to[8]) : "r"(7), "r"(FULL));
    asm volatile("match.all.sync.b32 %0, %1, %2;" : "=r"(to[9]) : "r"(threadIdx.x / 31), "r"(FULL));
    asm volatile("activemask.b32 %0;" : "=r"(to[10]));
    asm volatile("bar.warp.sync %0;" ::"r"(FULL) : "memory");
    to[11] = own;
}

extern "C" void run_reductions(const unsigned* in, unsigned* out) { reductions<<<1, 32>>>(in, out); }

__global__ void registers(unsigned* out) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned* to = out + 16 * (thread + 96 * blockIdx.x);
    asm("mov.u32 %0, %%tid.x;" : "=r"(to[0]));
    asm("mov.u32 %0, %%tid.y;" : "=r"(to[1]));
    asm("mov.u32 %0, %%tid.z;" : "=r"(to[2]));
    asm("mov.u32 %0, %%ntid.x;" : "=r"(to[3]));
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(to[4]));
    asm("mov.u32 %0, %%nctaid.x;" : "=r"(to[5]));
    asm("mov.u32 %0, %%laneid;" : "=r"(to[6]));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(to[7]));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(to[8]));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(to[9]));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(to[10]));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(to[11]));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(to[12]));
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    to[13] = before <= after;
    unsigned here, count;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(count));
    to[14] = here < count;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(to[15]));
}

extern "C" void run_registers(unsigned* out) { registers<<<2, dim3(8, 4, 3), 256>>>(out); }

// Warps 0 and 1 hand numbers to warps 2 and 3: the former only arrive at the barrier, the latter wait.
__global__ void hand_over(unsigned* out, unsigned* counts) {
    __shared__ unsigned numbers[64];
    const unsigned t = threadIdx.x;
    if (t < 64) {
        numbers[t] = 3 * t;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(128) : "memory");
        out[t - 64] = numbers[127 - t];
    }
    unsigned count, all, any;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 100; bar.red.popc.u32 %0, 0, p; }" : "=r"(count) : "r"(t));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 100; barrier.red.and.pred q, 0, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(all) : "r"(t));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 100; bar.red.or.pred q, 0, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(any) : "r"(t));
    counts[t] = count + 1000 * all + 10000 * any;
}

extern "C" void run_hand_over(unsigned* out, unsigned* counts) { hand_over<<<1, 128>>>(out, counts); }

__global__ void election(unsigned* out) {
#if __CUDA_ARCH__ >= 900 || defined(KBENCH_EMULATED)
    if (threadIdx.x < 5) return;
    unsigned leader, chosen;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(chosen) : "r"(0xffffffe0u));
    out[threadIdx.x] = 100 * leader + chosen;
#endif
}

extern "C" void run_election(unsigned* out) { election<<<1, 32>>>(out); }
