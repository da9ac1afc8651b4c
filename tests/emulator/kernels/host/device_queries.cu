// Launch shapes chosen by asking the device and the occupancy calculator; the answers must be plausible.
#include <algorithm>
#include <cstdint>

__global__ void cube(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i] * x[i];
}

extern "C" void run(const float* x, float* y, int* facts, int64_t n, cudaStream_t stream) {
    int device = -1, count = 0, warp = 0, shared = 0;
    cudaGetDevice(&device);
    cudaGetDeviceCount(&count);
    cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, device);

    int min_grid = 0, block = 0, per_multiprocessor = 0;
    cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, cube, 0, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, cube, 128, 0);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, cube);
    block = std::min(block, 64);
    const int blocks = std::min<int>((n + block - 1) / block, per_multiprocessor * properties.multiProcessorCount);
    cube<<<blocks, block, 0, stream>>>(x, y, n);

    size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    const int host[8] = {count >= 1 && device >= 0,
                         warp,
                         properties.maxThreadsPerBlock,
                         properties.major >= 8,
                         shared > 96 * 1024 && properties.sharedMemPerBlock == 48 * 1024,
                         min_grid >= 1 && per_multiprocessor >= 1,
                         attributes.maxThreadsPerBlock >= 64,
                         free_bytes <= total_bytes && total_bytes > 0};
    cudaMemcpyAsync(facts, host, sizeof(host), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
}
