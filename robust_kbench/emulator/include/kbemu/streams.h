// Streams and events. The emulator finishes every piece of work before the call that starts it returns, so a stream
// orders nothing and an event is a point in time.
#pragma once
#include <ctime>

#include "kbemu/errors.h"

struct CUstream_st {
    unsigned flags = 0;
    int priority = 0;
};
struct CUevent_st {
    long long nanoseconds = 0;
    bool recorded = false;
    bool timed = true;
};
typedef CUstream_st* cudaStream_t;
typedef CUevent_st* cudaEvent_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* data);
typedef void (*cudaHostFn_t)(void* data);

#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaEventInterprocess = 4 };

inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    if (!stream) return kbemu::host::outcome(cudaErrorInvalidValue);
    *stream = new CUstream_st{flags, priority};
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

namespace kbemu::host {

// The default streams are no objects.
inline bool is_created(cudaStream_t stream) {
    return stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
}

}  // namespace kbemu::host

inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (!kbemu::host::is_created(stream)) return kbemu::host::outcome(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}

inline cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    *priority = kbemu::host::is_created(stream) ? stream->priority : 0;
    return cudaSuccess;
}

inline cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    *flags = kbemu::host::is_created(stream) ? stream->flags : 0;
    return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return kbemu::host::wait();
}

inline cudaError_t cudaStreamQuery(cudaStream_t) {
    return kbemu::host::wait();
}

inline cudaError_t cudaDeviceSynchronize() {
    return kbemu::host::wait();
}

inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned = 0) {
    return event ? kbemu::host::wait() : kbemu::host::outcome(cudaErrorInvalidResourceHandle);
}

inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    callback(stream, kbemu::host::wait(), data);
    return cudaSuccess;
}

inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
    function(data);
    return cudaSuccess;
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (!event) return kbemu::host::outcome(cudaErrorInvalidValue);
    *event = new CUevent_st;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags = cudaEventDefault) {
    return cudaEventCreateWithFlags(event, flags);
}

inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (!event) return kbemu::host::outcome(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}

namespace kbemu::host {

// <chrono> would cost each kernel a quarter of a second to compile.
inline long long steady_nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace kbemu::host

inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
    if (!event) return kbemu::host::outcome(cudaErrorInvalidResourceHandle);
    event->nanoseconds = kbemu::host::steady_nanoseconds();
    event->recorded = true;
    return cudaSuccess;
}

inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) {
    return cudaEventRecord(event, stream);
}

inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return event ? kbemu::host::wait() : kbemu::host::outcome(cudaErrorInvalidResourceHandle);
}

inline cudaError_t cudaEventQuery(cudaEvent_t event) {
    return cudaEventSynchronize(event);
}

// The time that the emulation took: it says nothing about a device.
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (!milliseconds) return kbemu::host::outcome(cudaErrorInvalidValue);
    const bool usable = start && end && start->recorded && end->recorded && start->timed && end->timed;
    if (!usable) return kbemu::host::outcome(cudaErrorInvalidResourceHandle);
    *milliseconds = (end->nanoseconds - start->nanoseconds) * 1e-6f;
    return cudaSuccess;
}
