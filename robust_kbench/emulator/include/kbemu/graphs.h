// CUDA graphs cannot be recorded: work is done when the call that starts it returns.
#pragma once
#include "kbemu/streams.h"

typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2,
};

inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode, KBEMU_HERE) {
    kbemu::kbemu_unsupported("recording a CUDA graph (cudaStreamBeginCapture)", &site);
}

inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
    return kbemu::host::outcome(cudaErrorIllegalState);
}

inline cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned, KBEMU_HERE) {
    kbemu::kbemu_unsupported("a CUDA graph (cudaGraphCreate)", &site);
}

template <class... Options>
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, Options...) {
    return kbemu::host::outcome(cudaErrorInvalidValue);
}

inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
    return kbemu::host::outcome(cudaErrorInvalidValue);
}

inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
    return cudaSuccess;
}

inline cudaError_t cudaGraphDestroy(cudaGraph_t) {
    return cudaSuccess;
}
