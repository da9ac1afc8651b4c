// Two streams that wait for each other through events, and a time taken.
#include <cstdint>

__global__ void scale(const float* x, float* y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}

__global__ void add(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}

extern "C" void run(const float* x, float* y, int* checks, int64_t n, cudaStream_t stream) {
    cudaStream_t side;
    cudaEvent_t ready, done, start, stop;
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    float* scratch = nullptr;
    cudaMalloc(&scratch, n * sizeof(float));
    const int blocks = (n + 63) / 64;

    cudaEventRecord(start, stream);
    cudaEventRecord(ready, stream);
    cudaStreamWaitEvent(side, ready, 0);
    scale<<<blocks, 64, 0, side>>>(x, scratch, 3.0f, n);
    scale<<<blocks, 64, 0, stream>>>(x, y, 0.5f, n);
    cudaEventRecord(done, side);
    cudaStreamWaitEvent(stream, done, 0);
    add<<<blocks, 64, 0, stream>>>(scratch, y, n);
    cudaEventRecord(stop, stream);
    cudaEventSynchronize(stop);

    float milliseconds = -1.0f;
    cudaEventElapsedTime(&milliseconds, start, stop);
    const int results[2] = {milliseconds >= 0.0f && milliseconds < 60000.0f,
                            cudaStreamQuery(side) == cudaSuccess && cudaEventQuery(done) == cudaSuccess};
    cudaMemcpyAsync(checks, results, sizeof(results), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaFree(scratch);
    cudaEventDestroy(ready);
    cudaEventDestroy(done);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaStreamDestroy(side);
}
