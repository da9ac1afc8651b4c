// Softmax: the buffer of the row's maximum is filled for the sum while some threads have yet to read the maximum.
#include <cstdint>

constexpr int kThreads = 64;

__global__ void softmax(const float* x, float* y, int columns) {
    __shared__ float buffer[kThreads];
    const int thread = threadIdx.x;
    const float* row = x + blockIdx.x * columns;
    float largest = -INFINITY;
    for (int column = thread; column < columns; column += kThreads) {
        largest = fmaxf(largest, row[column]);
    }
    buffer[thread] = largest;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half >>= 1) {
        if (thread < half) {
            buffer[thread] = fmaxf(buffer[thread], buffer[thread + half]);
        }
        __syncthreads();
    }
    largest = buffer[0];  // finding: race_shared
#ifndef BUG
    __syncthreads();
#endif
    float sum = 0.0f;
    for (int column = thread; column < columns; column += kThreads) {
        sum += expf(row[column] - largest);
    }
    buffer[thread] = sum;  // finding: race_shared
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half >>= 1) {
        if (thread < half) {
            buffer[thread] += buffer[thread + half];
        }
        __syncthreads();
    }
    for (int column = thread; column < columns; column += kThreads) {
        y[blockIdx.x * columns + column] = expf(row[column] - largest) / buffer[0];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    softmax<<<2, kThreads, 0, stream>>>(x, y, n);
}
