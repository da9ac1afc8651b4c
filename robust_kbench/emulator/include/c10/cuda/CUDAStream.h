// torch's streams. All are the default stream, since nothing runs at the same time as anything else.
#pragma once
#include <c10/core/Stream.h>

#include <tuple>

#include "c10/cuda/CUDAFunctions.h"

namespace c10::cuda {

class CUDAStream {
public:
    CUDAStream(cudaStream_t stream = nullptr) : stream_(stream) {}
    explicit CUDAStream(Stream) {}

    bool operator==(const CUDAStream& other) const noexcept { return stream_ == other.stream_; }
    bool operator!=(const CUDAStream& other) const noexcept { return stream_ != other.stream_; }
    operator cudaStream_t() const { return stream_; }
    operator Stream() const { return unwrap(); }

    cudaStream_t stream() const { return stream_; }
    Stream unwrap() const { return Stream(Stream::DEFAULT, device()); }
    Device device() const { return Device(c10::kCPU); }
    DeviceIndex device_index() const { return 0; }
    DeviceType device_type() const { return c10::kCPU; }
    StreamId id() const { return 0; }
    int priority() const { return 0; }
    bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
    bool is_capturing() const { return false; }
    void synchronize() const { stream_synchronize(stream_); }

    static std::tuple<int, int> priority_range() { return {0, -5}; }

private:
    cudaStream_t stream_ = nullptr;
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) {
    return {};
}

inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) {
    return {};
}

template <class Choice = bool>
inline CUDAStream getStreamFromPool(Choice = {}, DeviceIndex = -1) {
    return {};
}

inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) {
    return stream;
}

inline void setCurrentCUDAStream(CUDAStream) {}

}  // namespace c10::cuda

namespace at::cuda {

using namespace c10::cuda;

}  // namespace at::cuda
