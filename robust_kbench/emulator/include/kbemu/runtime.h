// The line between the emulated CUDA headers and the runtime library (libkbemu.so). Headers are compiled with the
// kernel and may be templates; everything with state lives behind this line.
//
// An emulated thread is a fibre. A block's fibres take turns on one thread of the operating system and switch only
// inside the functions below, so that code between two calls runs undisturbed by its own block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>

#include "kbemu/dimensions.h"

namespace kbemu {

// Default arguments of this type evaluate where the intrinsic is called: in the user's file, at the user's line.
using Site = std::source_location;
#define KBEMU_HERE ::kbemu::Site site = ::kbemu::Site::current()

constexpr unsigned kWarpSize = 32;

// What an emulated thread knows about itself.
struct Thread {
    uint3 thread;        // threadIdx
    uint3 block;         // blockIdx
    unsigned linear;     // rank in the block
    unsigned lane;       // rank in the warp
    unsigned warp;       // rank of the warp in the block
    std::uint64_t run;   // differs whenever another block takes this thread's place
    char* shared_static; // this block's statically declared shared memory
    char* shared_dynamic;
};

// What host code meets at a call that cannot be emulated.
struct UnsupportedFeature : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Null outside a kernel.
extern thread_local Thread* self __attribute__((tls_model("initial-exec")));

extern "C" {

// --- findings -----------------------------------------------------------------------------------------------------
// `kind` is one of the kinds listed in robust_kbench/emulator/report.py. The message is a clause without place.
void kbemu_finding(const char* kind, const char* message, const Site* site);
// Ends the launch: the feature cannot be emulated. The submission gets status `unsupported`, never `incorrect`.
[[noreturn]] void kbemu_unsupported(const char* feature, const Site* site);
[[noreturn]] void kbemu_trap(const char* what, const Site* site);  // assert() and __trap(): the launch fails
[[noreturn]] void kbemu_exit_thread();

// --- collectives of a warp ----------------------------------------------------------------------------------------
// Every function waits until all lanes of `mask` that have not exited have arrived with the same intrinsic and mask,
// and returns the lanes that took part.
// Orders memory among the participants (the others do not).
unsigned kbemu_warp_sync(unsigned mask, const char* intrinsic, const Site* site);
// Replaces *value (at most 64 bytes) by that of lane `from`; a `from` outside 0..31 keeps it.
unsigned kbemu_warp_shuffle(unsigned mask, void* value, std::size_t size, int from, const char* intrinsic, const Site*);
// The lanes whose predicate is not zero.
unsigned kbemu_warp_vote(unsigned mask, int predicate, const char* intrinsic, const Site* site);
// Writes the values of all participants to all[lane * size]; `size` at most 512 bytes.
unsigned kbemu_warp_gather(
    unsigned mask, const void* value, std::size_t size, void* all, const char* intrinsic, const Site* site);
// The lanes that reach this place together: those that arrive before the warp can do nothing else.
unsigned kbemu_active_mask(const Site* site);

// --- barriers -----------------------------------------------------------------------------------------------------
enum BarrierOperation { kBarrierSync, kBarrierCount, kBarrierAnd, kBarrierOr };
int kbemu_block_sync(BarrierOperation operation, int predicate, const Site* site);
// PTX bar.sync / bar.arrive with a barrier number 0..15 and a number of threads (0: the whole block).
void kbemu_named_barrier(unsigned id, unsigned threads, bool arrive_only, const Site* site);
void kbemu_grid_sync(const Site* site);

// --- memory -------------------------------------------------------------------------------------------------------
enum FenceScope { kFenceBlock, kFenceDevice, kFenceSystem };
void kbemu_fence(FenceScope scope);
// Called before an atomic read-modify-write, load or store: checks the access, orders it, and lets others run when
// the thread appears to spin. `writes` is false for an atomic load.
void kbemu_atomic(const volatile void* address, std::size_t size, bool writes, const Site* site);
// Called before a plain access that the compiler's instrumentation cannot see (memory touched inside libkbemu or by
// headers compiled without it).
void kbemu_access(const volatile void* address, std::size_t size, bool writes, const Site* site);
// Gives way to other threads: __nanosleep, spinning on volatile memory.
void kbemu_yield();
// Reserves room in every block's static shared memory, once per declaration; returns the offset from shared_static.
unsigned kbemu_reserve_shared(std::size_t size, std::size_t alignment, const char* name, const Site* site);
// Bytes of dynamic shared memory of the current launch.
std::size_t kbemu_dynamic_shared_bytes();

// Global memory. Fresh memory is poisoned; red zones surround it; `label` names it in reports.
void* kbemu_allocate(std::size_t bytes, const char* label);
// Returns false when `pointer` is not the start of a live allocation.
bool kbemu_free(void* pointer);
// True when the bytes lie inside one known tensor, allocation or device symbol.
bool kbemu_is_device_memory(const void* pointer, std::size_t bytes);
// Declares a __device__ or __constant__ variable.
void kbemu_symbol(const char* name, const void* address, std::size_t bytes);
// The host or a library has written these bytes of device memory (cudaMemcpy, cudaMemset, cuBLAS).
void kbemu_host_wrote(const void* address, std::size_t bytes);

// --- launches -----------------------------------------------------------------------------------------------------
struct Launch {
    const char* kernel;
    dim3 grid, block;
    std::size_t shared_bytes;
    bool cooperative;
    void (*body)(void*);
    void* argument;
    std::size_t argument_bytes;
    unsigned cluster;  // blocks in a cluster; 0 without
    Site site;
};
// Runs the grid to its end. Returns a cudaError_t, which is also what cudaGetLastError returns next.
int kbemu_launch(const Launch* launch);
// cudaFuncSetAttribute(MaxDynamicSharedMemorySize): applies to later launches of `kernel`; a null name means all.
void kbemu_allow_shared(const char* kernel, std::size_t bytes);
// __launch_bounds__ as the kernel declares it; called by every thread at the start of the kernel.
void kbemu_launch_bounds(unsigned max_threads, unsigned min_blocks, const Site* site);
void kbemu_set_error(int code);
int kbemu_last_error(bool clear);

// --- control, called by the worker through ctypes -------------------------------------------------------------------
enum Schedule { kForward, kReverse, kShuffled };
// Before a call. `poison` fills fresh memory; `checked` needs a kernel built with instrumentation; `cores` is the number
// of operating-system threads for a grid's blocks. A kernel is stopped after `work_limit` units of emulated work (a
// thread started, a barrier or collective or atomic reached, in checked builds a memory access), and after
// `cpu_seconds` of processor time, which catches loops that do none of these.
void kbemu_begin(
    int schedule, std::uint64_t seed, std::uint32_t poison, int checked, int cores, std::uint64_t work_limit,
    unsigned cpu_seconds);
// Names a tensor of the call. `initialised` is false for outputs.
void kbemu_tensor(const char* name, const void* address, std::size_t bytes, int initialised);
// After a call: checks red zones, forgets the tensors, and returns a JSON list of findings that lives until the next call.
const char* kbemu_end();
}  // extern "C"

// An offset into static shared memory as a typed reference: `auto& tile = kbemu::shared<float[32][33], Tag>("tile")`.
template <class T, class Tag>
inline T& shared(const char* name, KBEMU_HERE) {
    static const unsigned offset = kbemu_reserve_shared(sizeof(T), alignof(T), name, &site);
    return *reinterpret_cast<T*>(self->shared_static + offset);
}

template <class T>
inline T* dynamic_shared() {
    return reinterpret_cast<T*>(self->shared_dynamic);
}

}  // namespace kbemu
