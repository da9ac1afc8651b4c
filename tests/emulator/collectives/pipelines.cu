// cuda::barrier and cuda::pipeline among the threads of a block.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Each round reads what a neighbour wrote in the same round.
__global__ void rounds(unsigned* out) {
    __shared__ block_barrier written, read;
    __shared__ unsigned values[64];
    const unsigned t = threadIdx.x;
    if (t == 0) {
        init(&written, blockDim.x);
        init(&read, blockDim.x);
    }
    __syncthreads();
    unsigned sum = 0;
    for (unsigned round = 0; round < 5; ++round) {
        values[t] = t + round;
        block_barrier::arrival_token token = written.arrive();
        sum += round;
        written.wait(std::move(token));
        sum += values[(t + 1) % 64];
        read.arrive_and_wait();
    }
    out[t] = sum;
}

extern "C" void run_rounds(unsigned* out) { rounds<<<1, 64>>>(out); }

// Half of the threads leave after the first phase.
__global__ void dropping(unsigned* out) {
    __shared__ block_barrier barrier;
    __shared__ unsigned count;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        count = 0;
    }
    __syncthreads();
    if (threadIdx.x % 2) {
        barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    atomicAdd(&count, 1);
    barrier.arrive_and_wait();
    out[threadIdx.x / 2] = count;
}

extern "C" void run_dropping(unsigned* out) { dropping<<<1, 64>>>(out); }

__global__ void copies_of_a_barrier(const int* in, int* out) {
    __shared__ block_barrier barrier;
    __shared__ alignas(16) int values[100];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    cuda::memcpy_async(block, values, in, sizeof(int) * 100, barrier);
    barrier.arrive_and_wait();
    for (int i = threadIdx.x; i < 100; i += blockDim.x) out[i] = values[99 - i];
}

extern "C" void run_copies_of_a_barrier(const int* in, int* out) { copies_of_a_barrier<<<1, 64>>>(in, out); }

constexpr int STAGES = 2, BATCH = 64;

template <class Pipeline>
__device__ void sum_batches(Pipeline& pipe, const int* in, int* out, int batches, int (*buffer)[BATCH]) {
    auto block = cg::this_thread_block();
    int sum = 0;
    for (int next = 0, batch = 0; batch < batches; ++batch) {
        for (; next < batches && next < batch + STAGES; ++next) {
            pipe.producer_acquire();
            const auto bytes = cuda::aligned_size_t<16>(sizeof(int) * BATCH);
            cuda::memcpy_async(block, buffer[next % STAGES], in + next * BATCH, bytes, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += buffer[batch % STAGES][BATCH - 1 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__global__ void unified(const int* in, int* out, int batches) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ alignas(16) int buffer[STAGES][BATCH];
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
    sum_batches(pipe, in, out, batches, buffer);
}

extern "C" void run_unified(const int* in, int* out) { unified<<<1, BATCH>>>(in, out, 5); }

// The first warp copies, the others add up.
__global__ void partitioned(const int* in, int* out, int batches) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ alignas(16) int buffer[STAGES][BATCH];
    auto block = cg::this_thread_block();
    const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    if (role == cuda::pipeline_role::producer) {
        for (int batch = 0; batch < batches; ++batch) {
            pipe.producer_acquire();
            for (int i = threadIdx.x; i < BATCH; i += 32) {
                cuda::memcpy_async(&buffer[batch % STAGES][i], in + batch * BATCH + i, sizeof(int), pipe);
            }
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int batch = 0; batch < batches; ++batch) {
            pipe.consumer_wait();
            sum += buffer[batch % STAGES][threadIdx.x - 32];
            pipe.consumer_release();
        }
        out[threadIdx.x - 32] = sum;
    }
}

extern "C" void run_partitioned(const int* in, int* out) { partitioned<<<1, 32 + BATCH>>>(in, out, 5); }

__global__ void alone(const int* in, int* out) {
    __shared__ int buffer[3][32];
    const int t = threadIdx.x;
    auto pipe = cuda::make_pipeline();
    int sum = 0;
    for (int batch = 0; batch < 6; ++batch) {
        pipe.producer_acquire();
        cuda::memcpy_async(&buffer[batch % 3][t], in + batch * 32 + t, sizeof(int), pipe);
        pipe.producer_commit();
        if (batch < 2) continue;
        pipe.consumer_wait();
        sum += buffer[(batch - 2) % 3][t];
        pipe.consumer_release();
    }
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    out[t] = sum + buffer[4 % 3][t] + buffer[5 % 3][t];
}

extern "C" void run_alone(const int* in, int* out) { alone<<<1, 32>>>(in, out); }

__global__ void zero_filled(const int* in, int* out) {
    __shared__ alignas(16) int buffer[4];
    __pipeline_memcpy_async(buffer, in, 16, 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int i = 0; i < 4; ++i) out[i] = buffer[i];
}

extern "C" void run_zero_filled(const int* in, int* out) { zero_filled<<<1, 1>>>(in, out); }

// Who consumes does not wait.
__global__ void no_wait(const int* in, int* out) {
    __shared__ int buffer[32];
    auto pipe = cuda::make_pipeline();
    cuda::memcpy_async(&buffer[threadIdx.x], in + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
    out[threadIdx.x] = buffer[threadIdx.x];
    pipe.consumer_wait();
}

extern "C" void run_no_wait(const int* in, int* out) { no_wait<<<1, 32>>>(in, out); }
