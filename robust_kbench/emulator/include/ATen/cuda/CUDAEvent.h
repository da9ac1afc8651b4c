// An event that belongs to a C++ scope.
#pragma once
#include "ATen/cuda/CUDAContext.h"
#include "c10/cuda/CUDAGuard.h"

namespace at::cuda {

struct CUDAEvent {
    explicit CUDAEvent(unsigned flags = cudaEventDisableTiming) {
        AT_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags));
    }
    CUDAEvent(const CUDAEvent&) = delete;
    CUDAEvent& operator=(const CUDAEvent&) = delete;
    CUDAEvent(CUDAEvent&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
    ~CUDAEvent() {
        if (event_) cudaEventDestroy(event_);
    }

    operator cudaEvent_t() const { return event_; }
    cudaEvent_t event() const { return event_; }
    bool isCreated() const { return event_ != nullptr; }
    bool query() const { return cudaEventQuery(event_) == cudaSuccess; }
    void record() { AT_CUDA_CHECK(cudaEventRecord(event_)); }
    void record(const CUDAStream& stream) { AT_CUDA_CHECK(cudaEventRecord(event_, stream)); }
    void recordOnce(const CUDAStream& stream) {
        if (!event_->recorded) record(stream);
    }
    void block(const CUDAStream& stream) { AT_CUDA_CHECK(cudaStreamWaitEvent(stream, event_)); }
    void synchronize() const { AT_CUDA_CHECK(cudaEventSynchronize(event_)); }

    float elapsed_time(const CUDAEvent& other) const {
        float milliseconds = 0;
        AT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, other.event_));
        return milliseconds;
    }

private:
    cudaEvent_t event_ = nullptr;
};

}  // namespace at::cuda
