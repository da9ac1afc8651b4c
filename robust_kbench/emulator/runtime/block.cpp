#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "engine.h"
#include "memory.h"

namespace kbemu {
namespace {

constexpr std::size_t kBeyondDynamicBytes = 256;  // poisoned too, so that a read beyond the end shows

}  // namespace

SharedMemory::SharedMemory() {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
}

SharedMemory::~SharedMemory() { munmap(memory_, kBytes); }

void SharedMemory::poison(std::size_t dynamic_bytes, std::uint32_t pattern) {
    auto fill = [pattern](char* start, std::size_t bytes) {
        auto* words = reinterpret_cast<std::uint32_t*>(start);
        std::fill(words, words + (bytes + 3) / 4, pattern);
    };
    fill(dynamic(), std::min(dynamic_bytes + kBeyondDynamicBytes, kDynamicBytes));
    fill(statics(), reserved_shared_bytes());
}

void Block::prepare(const Launch& launch, std::uint64_t number) {
    const dim3 size = launch.block, grid = launch.grid;
    index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
             static_cast<unsigned>(number / grid.x / grid.y)};
    clock = BlockClock{};
    clock.number = static_cast<std::uint32_t>(number);
    alive = size.x * size.y * size.z;
    at_barrier = at_grid = spinning = 0;
    next_fresh = 0;
    ready.clear();
    order.clear();
    for (NamedBarrier& barrier : barriers) barrier = NamedBarrier{};
    threads.resize(alive);
    warp_lanes.assign((alive + kWarpSize - 1) / kWarpSize, WarpLanes{~0u, 0});
    if (alive % kWarpSize) warp_lanes.back().alive = (1u << alive % kWarpSize) - 1;
    shared.poison(launch.shared_bytes, settings.poison);
    static std::atomic<std::uint64_t> runs{0};
    const std::uint64_t run = ++runs;
    for (unsigned i = 0; i < alive; ++i) {
        ThreadState& thread = threads[i];
        thread.block = this;
        thread.state = State::kFresh;
        thread.fibre = nullptr;
        thread.spin = Spin{};
        if (settings.checked) {
            thread.clock = ThreadClock{};
            thread.doubtful.clear();
        }
        thread.facts = {{i % size.x, i / size.x % size.y, i / size.x / size.y}, index, i, i % kWarpSize, i / kWarpSize,
                        run, shared.statics(), shared.dynamic()};
        order.push_back(&thread);
    }
}

}  // namespace kbemu
