// What the rewriter makes of `kernel<<<grid, block, shared, stream>>>(arguments)`.
#pragma once
#include <tuple>
#include <utility>

#include "kbemu/runtime.h"
#include "kbemu/streams.h"

namespace kbemu {

struct Config {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
    bool cooperative = false;
    unsigned cluster = 0;
    Site site;

    Config(dim3 grid_, dim3 block_, std::size_t shared_ = 0, cudaStream_t stream_ = nullptr, KBEMU_HERE)
        : grid(grid_), block(block_), shared(shared_), stream(stream_), site(site) {}
};

// A kernel as an argument of a runtime function, with the name under which it is launched.
template <class... Parameters>
struct KernelReference {
    const char* name;
    void (*function)(Parameters...);
};

template <class... Parameters>
inline KernelReference<Parameters...> kernel(const char* name, void (*function)(Parameters...)) {
    return {name, function};
}

// Arguments are copied once, as a launch does; every thread copies its parameters from there.
template <class Body, class... Arguments>
struct Call {
    Body body;
    std::tuple<Arguments...> arguments;

    static void run(void* call) {
        Call& self_ = *static_cast<Call*>(call);
        std::apply(self_.body, self_.arguments);
    }
};

template <class Body, class... Arguments>
inline int launch(const char* name, const Config& config, Body&& body, Arguments... arguments) {
    using Request = Call<std::decay_t<Body>, Arguments...>;  // by value, so that all the kernel may touch lies in it
    Request call{std::forward<Body>(body), {std::move(arguments)...}};
    const Launch request{name,   config.grid,    config.block,   config.shared, config.cooperative,
                         &Request::run, &call, sizeof call, config.cluster, config.site};
    return kbemu_launch(&request);
}

// The third argument, blocks in a cluster, is no limit.
inline void launch_bounds(unsigned max_threads, unsigned min_blocks, unsigned, KBEMU_HERE) {
    kbemu_launch_bounds(max_threads, min_blocks, &site);
}

inline void launch_bounds(unsigned max_threads, unsigned min_blocks = 0, KBEMU_HERE) {
    kbemu_launch_bounds(max_threads, min_blocks, &site);
}

inline bool symbol(const char* name, const volatile void* address, std::size_t bytes) {
    kbemu_symbol(name, const_cast<const void*>(address), bytes);
    return true;
}

// `extern __shared__ T name[]` at namespace scope: the array exists once for each block, so its address is asked for
// at every use.
template <class T>
struct DynamicShared {
    operator T*() const { return dynamic_shared<T>(); }
    T& operator[](std::size_t index) const { return dynamic_shared<T>()[index]; }
    T& operator*() const { return *dynamic_shared<T>(); }
};

}  // namespace kbemu
