// The runtime API as host code uses it; each function returns what its test expects.
#include <cuda_runtime.h>

__constant__ float weights[8];
__device__ int counter = 5;

__global__ void scale(float* x, int n, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

__global__ void weigh(float* x) {
    x[threadIdx.x] *= weights[threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&counter, 1);
}

__global__ void outside(float* x) {
    x[1 << 20] = 1.0f;
}

// Copies `values` to the device, has a kernel double them, and copies them back.
extern "C" int doubled(float* values, int n) {
    float* device = nullptr;
    const size_t bytes = n * sizeof(float);
    cudaError_t error = cudaMalloc(&device, bytes);
    if (error == cudaSuccess) error = cudaMemcpy(device, values, bytes, cudaMemcpyHostToDevice);
    scale<<<(n + 31) / 32, 32>>>(device, n, 2.0f);
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpyAsync(values, device, bytes, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess) error = cudaFree(device);
    return error;
}

extern "C" int launched_by_function(float* values, int n) {
    float* device;
    float factor = 3.0f;
    cudaMallocManaged(&device, n * sizeof(float));
    for (int i = 0; i < n; ++i) device[i] = values[i];
    void* arguments[] = {&device, &n, &factor};
    const cudaError_t error = cudaLaunchKernel((void*)scale, dim3(1), dim3(n), arguments, 0, 0);
    for (int i = 0; i < n; ++i) values[i] = device[i];
    cudaFree(device);
    return error;
}

extern "C" int symbols(float* values, const float* factors) {
    float* device;
    int count = 0;
    cudaMemcpyToSymbol(weights, factors, 8 * sizeof(float));
    cudaMalloc((void**)&device, 8 * sizeof(float));
    cudaMemcpy(device, values, 8 * sizeof(float), cudaMemcpyDefault);
    weigh<<<1, 8>>>(device);
    cudaMemcpy(values, device, 8 * sizeof(float), cudaMemcpyDefault);
    cudaMemcpyFromSymbol(&count, counter, sizeof(int));
    cudaFree(device);
    return count;
}

extern "C" int copy_beyond() {
    float host[8] = {};
    float* device;
    cudaMalloc(&device, 4 * sizeof(float));
    const cudaError_t error = cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);  // copy
    cudaFree(device);
    return error;
}

extern "C" int set_beyond() {
    char* device;
    cudaMalloc(&device, 100);
    const cudaError_t error = cudaMemset(device + 90, 0, 11);  // set
    cudaFree(device);
    return error;
}

extern "C" int symbol_beyond() {
    const float host[9] = {};
    return cudaMemcpyToSymbol(weights, host, sizeof host);  // symbol
}

extern "C" int freed_twice() {
    float* device;
    cudaMalloc(&device, 4);
    cudaFree(device);
    return cudaFree(device);  // free
}

extern "C" int too_many_threads(float* values) {
    scale<<<1, 2048>>>(values, 1, 1.0f);
    const cudaError_t first = cudaGetLastError();
    return cudaGetLastError() == cudaSuccess ? first : -1;
}

// The error of a kernel that went wrong is seen by whoever waits, and again afterwards.
extern "C" int fault_is_kept() {
    float* device;
    cudaMalloc(&device, 4);
    outside<<<1, 1>>>(device);
    const cudaError_t first = cudaDeviceSynchronize();
    return first != cudaSuccess && cudaDeviceSynchronize() == first;
}

extern "C" int attribute(int which) {
    int value = -1;
    cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(which), 0);
    return value;
}

extern "C" int property(int which) {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    const int values[] = {properties.major, properties.multiProcessorCount, properties.warpSize,
                          static_cast<int>(properties.sharedMemPerBlockOptin), properties.maxGridSize[1]};
    return values[which];
}

extern "C" int resident_blocks(int threads, int shared) {
    int blocks = -1;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, threads, shared);
    return blocks;
}

extern "C" int best_block() {
    int grid, block;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0);
    return block;
}

extern "C" int allow_shared(int bytes) {
    return cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

// Whether times between events are positive, and an error where one was not recorded.
extern "C" int events() {
    cudaEvent_t start, end, unused;
    float milliseconds = -1;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    cudaEventCreate(&unused);
    cudaEventRecord(start);
    cudaEventRecord(end, 0);
    const bool measured = cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess && milliseconds >= 0;
    return measured ? cudaEventElapsedTime(&milliseconds, start, unused) : -1;
}

extern "C" const char* error_name(int code) {
    return cudaGetErrorName(static_cast<cudaError_t>(code));
}

extern "C" const char* error_string(int code) {
    return cudaGetErrorString(static_cast<cudaError_t>(code));
}

extern "C" int second_device() {
    return cudaSetDevice(1);
}
