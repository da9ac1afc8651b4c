// cudaError_t: the codes that host code compares with or prints, and the state of the last error.
#pragma once
#include "kbemu/runtime.h"

// Name, code, text.
#define KBEMU_ERRORS(_) \
    _(cudaSuccess, 0, "no error") \
    _(cudaErrorInvalidValue, 1, "invalid argument") \
    _(cudaErrorMemoryAllocation, 2, "out of memory") \
    _(cudaErrorInitializationError, 3, "initialization error") \
    _(cudaErrorCudartUnloading, 4, "driver shutting down") \
    _(cudaErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool") \
    _(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
    _(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
    _(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
    _(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
    _(cudaErrorInvalidTexture, 18, "invalid texture reference") \
    _(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
    _(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
    _(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable") \
    _(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured") \
    _(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
    _(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
    _(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
    _(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid") \
    _(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
    _(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture") \
    _(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
    _(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed") \
    _(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
    _(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
    _(cudaErrorSymbolNotFound, 500, "named symbol not found") \
    _(cudaErrorNotReady, 600, "device not ready") \
    _(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
    _(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
    _(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
    _(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
    _(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
    _(cudaErrorContextIsDestroyed, 709, "context is destroyed") \
    _(cudaErrorAssert, 710, "device-side assert triggered") \
    _(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
    _(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
    _(cudaErrorHardwareStackError, 714, "hardware stack error") \
    _(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
    _(cudaErrorMisalignedAddress, 716, "misaligned address") \
    _(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space") \
    _(cudaErrorInvalidPc, 718, "invalid program counter") \
    _(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
    _(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
    _(cudaErrorNotPermitted, 800, "operation not permitted") \
    _(cudaErrorNotSupported, 801, "operation not supported") \
    _(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    _(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
    _(cudaErrorUnknown, 999, "unknown error")

#define KBEMU_ENUMERATOR(name, code, text) name = code,
enum cudaError { KBEMU_ERRORS(KBEMU_ENUMERATOR) };
#undef KBEMU_ENUMERATOR
typedef enum cudaError cudaError_t;

inline const char* cudaGetErrorName(cudaError_t error) {
#define KBEMU_NAME(name, code, text) \
    case code: return #name;
    switch (static_cast<int>(error)) { KBEMU_ERRORS(KBEMU_NAME) }
#undef KBEMU_NAME
    return "unrecognized error code";
}

inline const char* cudaGetErrorString(cudaError_t error) {
#define KBEMU_TEXT(name, code, text) \
    case code: return text;
    switch (static_cast<int>(error)) { KBEMU_ERRORS(KBEMU_TEXT) }
#undef KBEMU_TEXT
    return "unrecognized error code";
}

inline cudaError_t cudaGetLastError() {
    return static_cast<cudaError_t>(kbemu::kbemu_last_error(true));
}

inline cudaError_t cudaPeekAtLastError() {
    return static_cast<cudaError_t>(kbemu::kbemu_last_error(false));
}

namespace kbemu::host {

// What a runtime function returns is also what cudaGetLastError returns next.
inline cudaError_t outcome(cudaError_t error) {
    if (error != cudaSuccess) kbemu_set_error(error);
    return error;
}

// Errors of a kernel while it ran stay with the device; errors of a refused call do not.
inline bool ends_the_context(cudaError_t error) {
    return error == cudaErrorIllegalAddress || (error >= cudaErrorAssert && error <= cudaErrorLaunchFailure) ||
           error == cudaErrorLaunchTimeout;
}

// Work is done when the call that starts it returns; waiting for it only tells how it ended.
inline cudaError_t wait() {
    const cudaError_t error = cudaPeekAtLastError();
    return ends_the_context(error) ? error : cudaSuccess;
}

}  // namespace kbemu::host
