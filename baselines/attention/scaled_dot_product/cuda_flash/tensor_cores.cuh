// FlashAttention-2 (Dao 2023) for halves, on tensor cores. A warp keeps 16 queries, their scores and their sums in its
// registers; while keys are being multiplied, values are under way, and the other way round. Of 8 columns of a product
// (mma.m16n8k16), lane l has the two from l % 4 * 2 on, in rows l / 4 and l / 4 + 8.
#pragma once
#include <cuda_pipeline.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace {

constexpr int WARPS = 4, TILE = 16 * WARPS;  // queries of a block, and keys that it meets at a time

// Two numbers as halves in a register, the first one in the lower bits.
template <typename Half>
__device__ uint32_t packed(float first, float second) {
    const Half both[2] = {Half(first), Half(second)};
    return uint32_t(*reinterpret_cast<const uint16_t*>(&both[0])) |
           uint32_t(*reinterpret_cast<const uint16_t*>(&both[1])) << 16;
}

// sum[16][8] += left[16][16] * right[16][8]
template <typename Half>
__device__ void multiply(float (&sum)[4], const uint32_t (&left)[4], uint32_t right, uint32_t lower_right) {
    if constexpr (std::is_same<Half, __half>::value)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right), "r"(lower_right));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right), "r"(lower_right));
}

// TILE rows of a head, eight elements more each than they need: lanes that read a column meet in none of the banks.
template <typename Half, int DIM>
struct alignas(16) Rows {
    Half at[TILE][DIM + 8];

    // V elements at a time; zeros past the ends. An asynchronous copy takes at least 4 bytes.
    template <int V>
    __device__ void fetch(const Half* head, int first, int rows, int dims) {
#pragma unroll
        for (int index = threadIdx.x; index < TILE * DIM / V; index += 32 * WARPS) {
            const int row = index / (DIM / V), dim = index % (DIM / V) * V;
            const bool inside = first + row < rows && dim < dims;
            const Half* from = inside ? head + int64_t(first + row) * dims + dim : head;
            if (V > 1)
                __pipeline_memcpy_async(&at[row][dim], from, sizeof(Half) * V, inside ? 0 : sizeof(Half) * V);
            else
                at[row][dim] = inside ? *from : Half(0.0f);
        }
    }
    __device__ uint32_t pair(int row, int dim) const { return *reinterpret_cast<const uint32_t*>(&at[row][dim]); }
    // 16 rows by 16 dimensions, turned: two right operands of a product over the rows.
    __device__ void load_turned(int row, int dim, uint32_t (&to)[4]) const {
        const Half* from = &at[row + threadIdx.x % 16][dim + threadIdx.x % 32 / 16 * 8];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(from)))
                     : "memory");
    }
};

template <typename Half, int V, int DIM>
__global__ void __launch_bounds__(32 * WARPS)
    attend_halves(const Half* __restrict__ q, const Half* __restrict__ k, const Half* __restrict__ v,
                  Half* __restrict__ y, int queries, int keys, int dims, float scale) {
    __shared__ Rows<Half, DIM> keys_tile, values_tile;
    const int own = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    const int tiles = (queries + TILE - 1) / TILE, first = blockIdx.x % tiles * TILE;
    const int64_t head = blockIdx.x / tiles, q_head = head * queries * dims, k_head = head * keys * dims;
    keys_tile.template fetch<V>(q + q_head, first, queries, dims);  // the queries pass through here
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    uint32_t query[DIM / 16][4];
#pragma unroll
    for (int d = 0; d < DIM / 16; ++d)
#pragma unroll
        for (int i = 0; i < 4; ++i) query[d][i] = keys_tile.pair(own + i % 2 * 8, d * 16 + pair + i / 2 * 8);
    __syncthreads();
    keys_tile.template fetch<V>(k + k_head, 0, keys, dims);
    __pipeline_commit();
    values_tile.template fetch<V>(v + k_head, 0, keys, dims);
    __pipeline_commit();

    float top[2] = {-INFINITY, -INFINITY}, total[2] = {}, result[DIM / 8][4] = {};
    for (int start = 0; start < keys; start += TILE) {
        __pipeline_wait_prior(1);
        __syncthreads();  // the keys are there
        float score[TILE / 8][4] = {};
#pragma unroll
        for (int j = 0; j < TILE / 8; ++j)
#pragma unroll
            for (int d = 0; d < DIM / 16; ++d) {
                const int key = j * 8 + threadIdx.x % 32 / 4, dim = d * 16 + pair;
                multiply<Half>(score[j], query[d], keys_tile.pair(key, dim), keys_tile.pair(key, dim + 8));
            }
        __syncthreads();  // the keys have been used: the next ones are under way from here on
        if (start + TILE < keys) keys_tile.template fetch<V>(k + k_head, start + TILE, keys, dims);
        __pipeline_commit();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float high = top[i];
#pragma unroll
            for (int j = 0; j < TILE / 4; ++j) {
                float& value = score[j / 2][i * 2 + j % 2];
                const int key = start + j / 2 * 8 + pair + j % 2;
                value = key < keys ? value * scale : -INFINITY;
                high = fmaxf(high, value);
            }
            high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, 1));
            high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, 2));
            const float shrink = exp2f(top[i] - high);
            top[i] = high;
            total[i] *= shrink;
#pragma unroll
            for (int j = 0; j < TILE / 4; ++j) {
                float& value = score[j / 2][i * 2 + j % 2];
                value = exp2f(value - high);
                total[i] += value;
            }
#pragma unroll
            for (int d = 0; d < DIM / 4; ++d) result[d / 2][i * 2 + d % 2] *= shrink;
        }
        __pipeline_wait_prior(1);
        __syncthreads();  // the values are there
#pragma unroll
        for (int j = 0; j < TILE / 16; ++j) {
            uint32_t weight[4];  // as one product leaves its sums, the next takes its left operand
#pragma unroll
            for (int i = 0; i < 4; ++i)
                weight[i] = packed<Half>(score[2 * j + i / 2][i % 2 * 2], score[2 * j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
            for (int d = 0; d < DIM / 16; ++d) {
                uint32_t value[4];
                values_tile.load_turned(j * 16, d * 16, value);
                multiply<Half>(result[2 * d], weight, value[0], value[1]);
                multiply<Half>(result[2 * d + 1], weight, value[2], value[3]);
            }
        }
        __syncthreads();  // the values have been used
        if (start + TILE < keys) values_tile.template fetch<V>(v + k_head, start + TILE, keys, dims);
        __pipeline_commit();
    }

#pragma unroll
    for (int i = 0; i < 2; ++i) {
        total[i] += __shfl_xor_sync(0xffffffffu, total[i], 1);
        total[i] += __shfl_xor_sync(0xffffffffu, total[i], 2);
        const int row = first + own + i * 8;
        if (row >= queries) continue;
        Half* to = y + q_head + int64_t(row) * dims;
        const float shrink = 1.0f / total[i];
#pragma unroll
        for (int d = 0; d < DIM / 8; ++d)
            for (int e = 0; e < 2; ++e)
                if (d * 8 + pair + e < dims) to[d * 8 + pair + e] = Half(result[d][i * 2 + e] * shrink);
    }
}

}  // namespace
