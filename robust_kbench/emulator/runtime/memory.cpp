#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "engine.h"

namespace kbemu {
namespace {

constexpr std::size_t kRedZoneBytes = 256;
constexpr unsigned char kRedZoneByte = 0xfa;
constexpr std::size_t kReach = 1 << 20;
constexpr std::size_t kQuarantineBytes = 64 << 20;
constexpr std::size_t kMaxStaticBytes = 48 << 10;
constexpr std::size_t kSharedGapBytes = 64;  // a step beyond an array must not land in the next one

std::mutex mutex;
std::map<std::uintptr_t, Allocation> allocations;
std::deque<std::uintptr_t> quarantine;
std::size_t quarantined_bytes = 0;
Allocation* last_found = nullptr;

std::vector<SharedVariable> variables;
std::size_t variables_end = 0;

std::uintptr_t number_of(const volatile void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

void fill_with_poison(char* start, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) start[i] = poison_at(static_cast<std::ptrdiff_t>(i));
}

void check_red_zone(const Allocation& allocation) {
    const auto* before = reinterpret_cast<const unsigned char*>(allocation.start) - kRedZoneBytes;
    const auto* after = reinterpret_cast<const unsigned char*>(allocation.end());
    for (std::size_t i = 0; i < kRedZoneBytes; ++i) {
        const bool overrun = after[i] != kRedZoneByte;
        if (!overrun && before[kRedZoneBytes - 1 - i] == kRedZoneByte) continue;
        report("out_of_bounds_global", "a write " + bytes_text(i) + (overrun ? " beyond the end" : " before the start") +
                                           " of " + allocation.name + " (" + bytes_text(allocation.bytes) + ")", {});
        return;
    }
}

void release(std::map<std::uintptr_t, Allocation>::iterator place) {
    std::free(place->second.start - kRedZoneBytes);
    last_found = nullptr;
    allocations.erase(place);
}

void remember(Allocation allocation) {
    const std::uintptr_t key = number_of(allocation.start);
    last_found = nullptr;
    allocations.erase(key);
    allocations.emplace(key, std::move(allocation));
}

}  // namespace

char poison_at(std::ptrdiff_t offset) { return static_cast<char>(settings.poison >> 8 * (offset % 4)); }

bool Allocation::holds(const volatile void* address, std::size_t size) const {
    const std::uintptr_t first = number_of(address), low = number_of(start);
    return first >= low && first + size <= low + bytes;
}

Shadow& Allocation::its_shadow() {
    if (!shadow) shadow = std::make_unique<Shadow>(bytes);
    return *shadow;
}

Allocation* find_allocation(const volatile void* address) {
    if (last_found && last_found->holds(address, 1)) return last_found;
    auto next = allocations.upper_bound(number_of(address));
    Allocation* below = next == allocations.begin() ? nullptr : &std::prev(next)->second;
    if (below && below->holds(address, 1)) return last_found = below;
    Allocation* above = next == allocations.end() ? nullptr : &next->second;
    const std::size_t to_below = below ? number_of(address) - number_of(below->end()) : kReach;
    const std::size_t to_above = above ? number_of(above->start) - number_of(address) : kReach;
    if (std::min(to_below, to_above) >= kReach) return nullptr;
    return to_below <= to_above ? below : above;
}

std::size_t reserved_shared_bytes() { return variables_end; }

const std::vector<SharedVariable>& shared_variables() { return variables; }

std::size_t static_shared_bytes_of(const std::string& kernel) {
    std::map<std::uint64_t, std::size_t> by_launch;
    for (const SharedVariable& variable : variables) {
        if (variable.kernel == kernel) by_launch[variable.launch] += variable.bytes;
    }
    if (const auto mine = by_launch.find(launches); mine != by_launch.end()) return mine->second;
    std::size_t least = by_launch.empty() ? 0 : SIZE_MAX;
    for (const auto& [launch, bytes] : by_launch) least = std::min(least, bytes);
    return least;
}

void forget_tensors() {
    last_found = nullptr;
    std::erase_if(allocations, [](const auto& item) { return item.second.origin == Origin::kTensor; });
}

void check_red_zones() {
    for (const auto& [key, allocation] : allocations) {
        if (allocation.origin == Origin::kAllocation) check_red_zone(allocation);
    }
}

void release_quarantine() {
    for (const std::uintptr_t key : quarantine) release(allocations.find(key));
    quarantine.clear();
    quarantined_bytes = 0;
}

}  // namespace kbemu

using namespace kbemu;

extern "C" {

void kbemu_tensor(const char* name, const void* address, std::size_t bytes, int initialised) {
    std::lock_guard<std::mutex> lock(mutex);
    auto* start = static_cast<char*>(const_cast<void*>(address));
    remember({start, bytes, "'" + std::string(name) + "'", Origin::kTensor, true, initialised != 0, false, nullptr});
}

void kbemu_symbol(const char* name, const void* address, std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto* start = static_cast<char*>(const_cast<void*>(address));
    remember({start, bytes, "variable '" + std::string(name) + "'", Origin::kSymbol, true, true, false, nullptr});
}

void* kbemu_allocate(std::size_t bytes, const char* label) {
    const std::size_t whole = (bytes + 2 * kRedZoneBytes + kRedZoneBytes - 1) / kRedZoneBytes * kRedZoneBytes;
    auto* memory = static_cast<char*>(std::aligned_alloc(kRedZoneBytes, whole));
    if (!memory) return nullptr;
    char* start = memory + kRedZoneBytes;
    std::memset(memory, kRedZoneByte, kRedZoneBytes);
    fill_with_poison(start, bytes);
    std::memset(start + bytes, kRedZoneByte, kRedZoneBytes);
    std::lock_guard<std::mutex> lock(mutex);
    const bool is_exact = std::strncmp(label, "cuda", 4) == 0;  // from cudaMalloc and its family
    remember({start, bytes, label, Origin::kAllocation, is_exact, false, false, nullptr});
    return start;
}

bool kbemu_free(void* pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    auto place = allocations.find(number_of(pointer));
    if (place == allocations.end()) return false;
    Allocation& allocation = place->second;
    if (allocation.origin != Origin::kAllocation || allocation.freed) return false;
    check_red_zone(allocation);
    allocation.freed = true;
    quarantine.push_back(place->first);
    quarantined_bytes += allocation.bytes;
    while (quarantined_bytes > kQuarantineBytes) {
        auto oldest = allocations.find(quarantine.front());
        quarantined_bytes -= oldest->second.bytes;
        quarantine.pop_front();
        release(oldest);
    }
    return true;
}

bool kbemu_is_device_memory(const void* pointer, std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    const Allocation* found = find_allocation(pointer);
    return found && !found->freed && found->holds(pointer, bytes);
}

void kbemu_host_wrote(const void* address, std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    Allocation* found = find_allocation(address);
    if (!settings.checked || !found || found->initialised || !found->holds(address, bytes)) return;
    found->its_shadow().mark_written(static_cast<std::size_t>(static_cast<const char*>(address) - found->start), bytes);
}

unsigned kbemu_reserve_shared(std::size_t size, std::size_t alignment, const char* name, const Site* site) {
    std::lock_guard<std::mutex> lock(mutex);
    const std::size_t step = std::max<std::size_t>(alignment, 16);
    const std::size_t offset = (variables_end + step - 1) / step * step;
    if (offset + size + kSharedGapBytes > SharedMemory::kStaticBytes) {
        kbemu_unsupported("more than 256 KiB of static shared memory in one source", site);
    }
    variables.push_back({name, current_kernel(), launches, offset, size});
    if (static_shared_bytes_of(current_kernel()) > kMaxStaticBytes) {
        report("launch_limit", "with '" + std::string(name) + "' the kernel has " +
                                   std::to_string(static_shared_bytes_of(current_kernel())) +
                                   " bytes of static shared memory; at most 49152", Place::of(site));
    } else if (auto problem = shared_memory_exceeded(current_kernel(), kbemu_dynamic_shared_bytes()); !problem.empty()) {
        report("launch_limit", problem, Place::of(site));
    }
    // A block that is running already has poisoned only what was known when it started.
    auto* fresh = reinterpret_cast<std::uint32_t*>(self->shared_static + offset);
    std::fill(fresh, fresh + (size + kSharedGapBytes) / 4, settings.poison);
    variables_end = offset + size + kSharedGapBytes;
    return static_cast<unsigned>(offset);
}

std::size_t kbemu_dynamic_shared_bytes() { return engine ? engine->grid().launch->shared_bytes : 0; }
}
