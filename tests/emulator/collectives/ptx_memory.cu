// Loads, stores, atomics and asynchronous copies in inline PTX.
#include <cstdint>

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Bytes of every width and signedness, through every state space.
__global__ void widths(const signed char* in, long long* out) {
    __shared__ __align__(16) signed char copy[64];
    copy[threadIdx.x] = in[threadIdx.x];
    copy[threadIdx.x + 32] = in[threadIdx.x + 32];
    __syncthreads();
    if (threadIdx.x) return;
    int small, other;
    asm volatile("ld.global.s8 %0, [%1+1];" : "=r"(small) : "l"(in));
    out[0] = small;
    asm volatile("ld.u8 %0, [%1+1];" : "=r"(small) : "l"(in));
    out[1] = small;
    asm volatile("ld.shared.s16 %0, [%1+2];" : "=r"(small) : "r"(shared_address(copy)));
    out[2] = small;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(small) : "r"(shared_address(copy + 2)));
    out[3] = small;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(small) : "l"(in + 4));
    out[4] = small;
    asm volatile("ld.shared.v2.s32 {%0, %1}, [%2];" : "=r"(small), "=r"(other) : "r"(shared_address(copy + 8)));
    out[5] = static_cast<long long>(small) * other;
    asm volatile("ld.shared.b64 %0, [%1];" : "=l"(out[6]) : "r"(shared_address(copy + 8)));
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(out[7]), "=l"(out[8]) : "l"(in + 16));
    asm volatile("{ .reg .u64 a; cvta.to.shared.u64 a, %1; ld.shared.s64 %0, [a]; }" : "=l"(out[9]) : "l"(copy + 8));
    unsigned long long generic;
    asm volatile("{ .reg .u64 a; cvt.u64.u32 a, %1; cvta.shared.u64 %0, a; }"
                 : "=l"(generic) : "r"(shared_address(copy)));
    out[10] = reinterpret_cast<signed char*>(generic) == copy;
    unsigned shared_yes, shared_no, global_yes;
    asm volatile("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(shared_yes) : "l"(copy));
    asm volatile("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(shared_no) : "l"(in));
    asm volatile("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(global_yes) : "l"(in));
    out[11] = 100 * shared_yes + 10 * shared_no + global_yes;
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(shared_address(copy)), "r"(0x1234) : "memory");
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(copy + 16)), "r"(1), "r"(2), "r"(3), "r"(4) : "memory");
    out[12] = copy[0];
    out[13] = reinterpret_cast<int*>(copy)[7];
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov.u32 %0, 17; @p ld.global.u32 %0, [%2]; }"
                 : "=r"(small) : "r"(0), "l"(static_cast<const void*>(nullptr)));
    out[14] = small;
}

extern "C" void run_widths(const signed char* in, long long* out) { widths<<<1, 32>>>(in, out); }

struct Totals {
    unsigned added, smallest, counted, counted_down;
    int largest;
    unsigned bits_and, bits_or, bits_xor;
    float sum;
    unsigned halves;
    double wide;
    unsigned long long exchanged;
    float vector[4];
};

template <bool shared>
__device__ void accumulate(Totals* to, unsigned value) {
    unsigned old;
    asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(&to->added), "r"(value) : "memory");
    asm volatile("red.min.relaxed.gpu.u32 [%0], %1;" ::"l"(&to->smallest), "r"(value) : "memory");
    asm volatile("red.max.s32 [%0], %1;" ::"l"(&to->largest), "r"(value - 50) : "memory");
    asm volatile("red.inc.u32 [%0], 6;" ::"l"(&to->counted) : "memory");
    asm volatile("red.dec.u32 [%0], 6;" ::"l"(&to->counted_down) : "memory");
    asm volatile("red.and.b32 [%0], %1;" ::"l"(&to->bits_and), "r"(~value) : "memory");
    asm volatile("red.or.b32 [%0], %1;" ::"l"(&to->bits_or), "r"(value) : "memory");
    asm volatile("red.xor.b32 [%0], %1;" ::"l"(&to->bits_xor), "r"(value) : "memory");
    asm volatile("red.add.f32 [%0], %1;" ::"l"(&to->sum), "f"(0.5f * value) : "memory");
    asm volatile("red.add.noftz.f16x2 [%0], %1;" ::"l"(&to->halves), "r"(0x3c004000) : "memory");
    asm volatile("red.add.f64 [%0], %1;" ::"l"(&to->wide), "d"(0.25 * value) : "memory");
    unsigned long long seen = 0, expected;
    do {
        expected = seen;
        asm volatile("atom.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(seen) : "l"(&to->exchanged), "l"(expected), "l"(expected + value) : "memory");
    } while (seen != expected);
}

__global__ void totals(Totals* global) {
    __shared__ Totals block;
    if (threadIdx.x == 0) block = Totals{0, ~0u, 0, 0, -1000, ~0u, 0, 0};
    __syncthreads();
    accumulate<true>(&block, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *global = block;
}

extern "C" void run_totals(Totals* out) { totals<<<1, 40>>>(out); }

// --- cp.async -------------------------------------------------------------------------------------------------------

__device__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));  // copy
}

// Four stages, two of them in flight.
__global__ void stages(const float4* in, float4* out, int count) {
    __shared__ float4 buffer[4][32];
    const int t = threadIdx.x;
    for (int i = 0; i < 2; ++i) {
        copy16(&buffer[i][t], in + 32 * i + t);
        asm volatile("cp.async.commit_group;");
    }
    for (int i = 0; i < count; ++i) {
        if (i + 2 < count) copy16(&buffer[(i + 2) % 4][t], in + 32 * (i + 2) + t);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group %0;" ::"n"(2) : "memory");
        __syncthreads();
        out[32 * i + t] = buffer[i % 4][31 - t];
        __syncthreads();
    }
}

extern "C" void run_stages(const float4* in, float4* out) { stages<<<1, 32>>>(in, out, 6); }

__global__ void partial(const unsigned* in, unsigned* out) {
    __shared__ __align__(16) unsigned buffer[16];
    for (int i = 0; i < 16; ++i) buffer[i] = 77;
    const unsigned to = shared_address(buffer);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(in), "r"(8));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 16), "l"(in + 5));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to + 24), "l"(in + 2), "n"(8), "r"(0));
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 ::"r"(to + 32), "l"(in), "r"(0));
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; @!p cp.async.cg.shared.global [%0], [%1], 16; }"
                 ::"r"(to + 48), "l"(in), "r"(0));
    const unsigned before = buffer[0];
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 16; ++i) out[i] = buffer[i];
    out[16] = before;
}

extern "C" void run_partial(const unsigned* in, unsigned* out) { partial<<<1, 1>>>(in, out); }

// The copies are committed, but nobody waits for them.
__global__ void no_wait(const float4* in, float* out) {
    __shared__ float4 buffer[32];
    copy16(&buffer[threadIdx.x], in + threadIdx.x);
    asm volatile("cp.async.commit_group;");
    __syncthreads();
    out[threadIdx.x] = buffer[threadIdx.x].x;  // never waited for
    asm volatile("cp.async.wait_all;");
}

extern "C" void run_no_wait(const float4* in, float* out) { no_wait<<<1, 32>>>(in, out); }

// The copies are waited for, but only by the thread that reads.
__global__ void no_barrier(const float4* in, float* out) {
    __shared__ float4 buffer[64];
    copy16(&buffer[threadIdx.x], in + threadIdx.x);
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = buffer[63 - threadIdx.x].x;  // without a barrier
}

extern "C" void run_no_barrier(const float4* in, float* out) { no_barrier<<<1, 64>>>(in, out); }

__global__ void too_far(const float4* in, float* out) {
    __shared__ float4 buffer[64];
    copy16(&buffer[threadIdx.x], in + threadIdx.x);
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = buffer[threadIdx.x].x;
}

extern "C" void run_too_far(const float4* in, float* out) { too_far<<<1, 33>>>(in, out); }

__global__ void misaligned(const float* in, float* out) {
    float4 v;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"  // not at a multiple of 16
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(in + 1));
    out[0] = v.x;
}

extern "C" void run_misaligned(const float* in, float* out) { misaligned<<<1, 1>>>(in, out); }

// --- hints, fences, ends --------------------------------------------------------------------------------------------

// Nothing here changes a value.
__global__ void hints(const float* in, float* out) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(in));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in));
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::evict_last.L2::cache_hint.L2::256B.f32 %0, [%1], %2;"
                 : "=f"(a) : "l"(in), "l"(policy));
    asm volatile("ld.global.lu.f32 %0, [%1+4];" : "=f"(b) : "l"(in));
    asm volatile("ldu.global.f32 %0, [%1];" : "=f"(c) : "l"(in + 2));
    asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(d) : "l"(in + 3));
    asm volatile("st.global.L1::no_allocate.f32 [%0], %1;" ::"l"(out), "f"(a + b + c + d) : "memory");
    asm volatile("membar.cta;" ::: "memory");
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.sys;" ::: "memory");
    asm volatile("nanosleep.u32 %0;" ::"r"(20));
    asm volatile("pmevent 1;");
}

extern "C" void run_hints(const float* in, float* out) { hints<<<1, 1>>>(in, out); }

// One thread writes, then raises a flag that the other polls.
__global__ void flag(unsigned* out) {
    __shared__ unsigned value, raised;
    if (threadIdx.x == 0) raised = 0;
    __syncthreads();
    const unsigned address = shared_address(&raised);
    if (threadIdx.x == 32) {
        value = 41;
        asm volatile("st.release.cta.shared.u32 [%0], 1;" ::"r"(address) : "memory");
    } else if (threadIdx.x == 0) {
        unsigned seen;
        do {
            asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(address) : "memory");
        } while (seen == 0);
        out[0] = value + seen;
    }
}

extern "C" void run_flag(unsigned* out) { flag<<<1, 64>>>(out); }

__global__ void leaves(unsigned* out) {
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %0, 3; @p exit; }" ::"r"(threadIdx.x));
    out[threadIdx.x] = 1;
}

extern "C" void run_leaves(unsigned* out) { leaves<<<1, 8>>>(out); }

__global__ void traps() {
    asm volatile("trap;");  // trap
}

extern "C" void run_traps() { traps<<<1, 1>>>(); }

// What the first of two launches leaves behind does not reach the second.
__global__ void forgetful(const float4* in, float4* out, bool starts) {
    __shared__ float4 buffer[1];
    if (starts) {
        buffer[0] = make_float4(0, 0, 0, 0);
        copy16(buffer, in);
    } else {
        buffer[0] = make_float4(5, 5, 5, 5);
        asm volatile("cp.async.wait_all;" ::: "memory");
        out[0] = buffer[0];
    }
}

extern "C" void run_forgetful(const float4* in, float4* out) {
    forgetful<<<1, 1>>>(in, out, true);
    forgetful<<<1, 1>>>(in, out, false);
}

#if __CUDA_ARCH__ >= 900 || defined(KBENCH_EMULATED) || !defined(__CUDA_ARCH__)
__global__ void vectors(float* sums, unsigned* halves) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(sums), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"(4.0f)
                 : "memory");
    unsigned low, high;
    asm volatile("atom.global.add.noftz.v2.f16x2 {%0, %1}, [%2], {%3, %4};"
                 : "=r"(low), "=r"(high) : "l"(halves), "r"(0x3c003c00), "r"(0x3c000000) : "memory");
}
#endif

extern "C" void run_vectors(float* sums, unsigned* halves) {
#ifdef KBENCH_EMULATED
    vectors<<<1, 32>>>(sums, halves);
#endif
}
