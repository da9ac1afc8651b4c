// Launches by function call: arguments come as an array of addresses, or typed with a launch configuration.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "kbemu/kernel_attributes.h"

namespace kbemu::host {

template <class... P, std::size_t... I>
inline cudaError_t launch_unpacked(
    const KernelReference<P...>& kernel, const Config& config, void** arguments, std::index_sequence<I...>) {
    const auto body = [function = kernel.function](auto&... values) { function(values...); };
    return static_cast<cudaError_t>(
        launch(kernel.name, config, body, *static_cast<std::remove_cv_t<P>*>(arguments[I])...));
}

template <class... P>
inline cudaError_t launch_array(const KernelReference<P...>& kernel, const Config& config, void** arguments) {
    if (!kernel.function || (sizeof...(P) != 0 && !arguments)) return outcome(cudaErrorInvalidValue);
    return launch_unpacked(kernel, config, arguments, std::index_sequence_for<P...>());
}

}  // namespace kbemu::host

template <class... P>
inline cudaError_t cudaLaunchKernel(
    const kbemu::KernelReference<P...>& kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
    cudaStream_t stream = nullptr, KBEMU_HERE) {
    return kbemu::host::launch_array(kernel, kbemu::Config(grid, block, shared, stream, site), arguments);
}

template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(
    const kbemu::KernelReference<P...>& kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
    cudaStream_t stream = nullptr, KBEMU_HERE) {
    kbemu::Config config(grid, block, shared, stream, site);
    config.cooperative = true;
    return kbemu::host::launch_array(kernel, config, arguments);
}

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeAccessPolicyWindow = 1,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8,
};

union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    int priority;
};

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned numAttrs = 0;
};

namespace kbemu::host {

inline Config config_of(const cudaLaunchConfig_t& given) {
    Config config(given.gridDim, given.blockDim, given.dynamicSmemBytes, given.stream);
    for (unsigned i = 0; i < given.numAttrs; ++i) {
        const cudaLaunchAttributeValue& value = given.attrs[i].val;
        if (given.attrs[i].id == cudaLaunchAttributeCooperative) config.cooperative = value.cooperative;
        if (given.attrs[i].id == cudaLaunchAttributeClusterDimension) {
            config.cluster = value.clusterDim.x * value.clusterDim.y * value.clusterDim.z;
        }
    }
    return config;
}

}  // namespace kbemu::host

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(
    const cudaLaunchConfig_t* config, const kbemu::KernelReference<P...>& kernel, A&&... arguments) {
    const auto body = [function = kernel.function](auto&... values) { function(values...); };
    return static_cast<cudaError_t>(
        kbemu::launch(kernel.name, kbemu::host::config_of(*config), body, P(std::forward<A>(arguments))...));
}

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
    const kbemu::KernelReference<P...> reference{"a kernel launched by cudaLaunchKernelEx", kernel};
    return cudaLaunchKernelEx(config, reference, std::forward<A>(arguments)...);
}

template <class... P>
inline cudaError_t cudaLaunchKernelExC(
    const cudaLaunchConfig_t* config, const kbemu::KernelReference<P...>& kernel, void** arguments) {
    return kbemu::host::launch_array(kernel, kbemu::host::config_of(*config), arguments);
}
