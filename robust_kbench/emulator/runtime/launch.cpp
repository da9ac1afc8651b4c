// From a launch request to engines that run its blocks.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "checker.h"
#include "engine.h"
#include "faults.h"
#include "memory.h"
#include "module.h"

namespace kbemu {

constexpr std::size_t kSharedBytes = 48 << 10;  // without cudaFuncSetAttribute
constexpr const char* kEveryKernel = "";
// An attribute stays with the kernel for the life of the process, as on a device.
static std::map<std::string, std::size_t> allowed_shared;

std::string shared_memory_exceeded(const std::string& kernel, std::size_t dynamic_bytes) {
    const auto allowed = [](const std::string& name) {
        const auto found = allowed_shared.find(name);
        return found == allowed_shared.end() ? 0 : found->second;
    };
    const std::size_t limit = std::max({kSharedBytes, allowed(kernel), allowed(kEveryKernel)});
    const std::size_t static_bytes = static_shared_bytes_of(kernel);
    if (dynamic_bytes + static_bytes <= limit) return "";
    return std::to_string(dynamic_bytes) + " bytes of dynamic and " + std::to_string(static_bytes) +
           " of static shared memory; at most " + std::to_string(limit) +
           " together, unless cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) asks for more";
}

namespace {

constexpr unsigned kMaxThreads = 1024, kMaxBlockZ = 64, kMaxGridYZ = 65535, kMaxGridX = 2147483647;
constexpr std::size_t kOptInSharedBytes = 163 << 10;    // compute capability 8.0

int last_error = 0;
bool is_sticky = false;
std::string text_of(dim3 size) {
    return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + ")";
}

std::string limit_exceeded(const Launch& launch) {
    const dim3 grid = launch.grid, block = launch.block;
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    if (!grid.x || !grid.y || !grid.z) return "a grid of " + text_of(grid) + " has no block";
    if (!threads) return "a block of " + text_of(block) + " has no thread";
    if (threads > kMaxThreads || block.x > kMaxThreads || block.y > kMaxThreads || block.z > kMaxBlockZ) {
        return "a block of " + text_of(block) + " has " + std::to_string(threads) +
               " threads; at most 1024, and 64 along z";
    }
    if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
        return "a grid of " + text_of(grid) + " is too large; at most 65535 along y and z";
    }
    return shared_memory_exceeded(launch.kernel, launch.shared_bytes);
}

void run(Grid& grid) {
    const bool alone = settings.checked || grid.launch->cooperative || grid.blocks < 2;
    const unsigned count = alone ? 1 : static_cast<unsigned>(std::min<std::uint64_t>(settings.cores, grid.blocks));
    static std::vector<std::unique_ptr<Engine>> engines;
    while (engines.size() < count) engines.push_back(std::make_unique<Engine>());
    auto work = [&grid](Engine& mine) {
        prepare_signal_stack();
        mine.run(grid);
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < count; ++i) threads.emplace_back(work, std::ref(*engines[i]));
    work(*engines[0]);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

void clear_errors() {
    last_error = 0;
    is_sticky = false;
}

}  // namespace kbemu

using namespace kbemu;

extern "C" {

int kbemu_launch(const Launch* launch) {
    if (engine) kbemu_unsupported("a launch from within a kernel (dynamic parallelism)", nullptr);
    if (is_sticky) return last_error;
    Grid grid;
    grid.launch = launch;
    launching = launch->kernel;
    ++launches;
    if (const std::string problem = limit_exceeded(*launch); !problem.empty()) {
        report("launch_limit", problem, Place::of(&launch->site));
        return last_error = kErrorInvalidConfiguration;
    }
    grid.blocks = std::uint64_t{launch->grid.x} * launch->grid.y * launch->grid.z;
    if (std::getenv("KBENCH_KNOCKED_OUT")) return 0;  // see checking/knock_out.py
    enter_module_of(reinterpret_cast<const void*>(launch->body));
    if (settings.checked) checker_starts_launch();
    {
        FaultGuard guard;
        run(grid);
    }
    if (grid.error) {
        last_error = grid.error;
        is_sticky = true;  // as on a device, nothing runs any more after a fault
    }
    return grid.error;
}

void kbemu_allow_shared(const char* kernel, std::size_t bytes) {
    if (bytes > kOptInSharedBytes) {
        kbemu_unsupported("more than 163 KiB of shared memory (compute capability 9.0 has 227 KiB)", nullptr);
    }
    allowed_shared[kernel ? kernel : kEveryKernel] = bytes;
}

void kbemu_launch_bounds(unsigned max_threads, unsigned min_blocks, const Site* site) {
    ThreadState& thread = engine->current();
    if (thread.facts.linear != 0) return;
    const std::size_t threads = thread.block->threads.size();
    if (max_threads && threads > max_threads) {
        report("launch_limit", "a block of " + std::to_string(threads) + " threads; the kernel's __launch_bounds__ allows " +
                                   std::to_string(max_threads), Place::of(site));
        engine->abort(kErrorInvalidConfiguration);
    }
    if (std::uint64_t{min_blocks} * max_threads > 2048) {
        report("launch_limit", "__launch_bounds__ asks for " + std::to_string(min_blocks) + " blocks of " +
                                   std::to_string(max_threads) + " threads on one multiprocessor, which holds 2048 threads",
               Place::of(site));
    }
}

void kbemu_set_error(int code) { last_error = code; }

int kbemu_last_error(bool clear) {
    const int code = last_error;
    if (clear && !is_sticky) last_error = 0;
    return code;
}
}
