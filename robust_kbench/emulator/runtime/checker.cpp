#include "checker.h"

#include <algorithm>
#include <string>

#include "memory.h"
#include "module.h"
#include "order.h"

namespace kbemu {
namespace {

std::uint32_t launch_generation = 0;
std::string text_of(const Access& access) {
    return std::string(access.atomic ? "an atomic access" : access.writes ? "a write" : "a read") + " of " +
           std::to_string(access.size) + (access.size == 1 ? " byte" : " bytes");
}

Actor actor_of(const Stamp& stamp) {
    const Launch& launch = *engine->grid().launch;
    const dim3 grid = launch.grid, block = launch.block;
    Actor actor;
    actor.block = {stamp.block % grid.x, stamp.block / grid.x % grid.y, stamp.block / grid.x / grid.y};
    actor.thread = {stamp.thread % block.x, stamp.thread / block.x % block.y, stamp.thread / block.x / block.y};
    return actor;
}

void report_race(const Access& access, const ThreadState& by, const Stamp& stamp, bool earlier_wrote, bool shared,
                 const std::string& name) {
    const char* where = stamp.block != by.block->clock.number             ? "another block"
                        : stamp.thread / kWarpSize != by.facts.warp ? "another warp"
                                                                          : "the same warp";
    const std::string earlier = stamp.atomic ? "an atomic access" : earlier_wrote ? "a write" : "a read";
    Thread* const before = self;
    self = const_cast<Thread*>(&by.facts);
    report_pair(shared ? "race_shared" : "race_global",
                text_of(access) + " of " + name + " without order after " + earlier + " by a thread of " + where,
                access.place, unpacked(stamp.place), actor_of(stamp));
    self = before;
}

constexpr unsigned kPatience = 32;

void tell(const ThreadState& thread, const DoubtfulRead& read) {
    report_race({read.address, read.size, false, false, read.place}, thread, read.earlier, true, read.shared, read.name);
}

// An atomic on the address settles a doubtful read; too many other accesses condemn it.
void settle_doubtful_reads(ThreadState& thread, const Access& access) {
    std::erase_if(thread.doubtful, [&](DoubtfulRead& read) {
        if (access.atomic && access.address == read.address) return true;
        if (--read.patience > 0) return false;
        tell(thread, read);
        return true;
    });
}

Stamp stamp_of(const Access& access, std::uint8_t bytes) {
    const ThreadState& thread = engine->current();
    return {thread.block->clock.number, thread.block->clock.epoch, thread.clock.now,
            static_cast<std::uint16_t>(thread.facts.linear), bytes, access.atomic, packed(access.place)};
}

// Two readers from different threads are kept: with one only, a reader that later writes would hide the others.
void remember_read(Cell& cell, const Stamp& stamp) {
    if (cell.reads[0].epoch && cell.reads[0].thread != stamp.thread) cell.reads[1] = cell.reads[0];
    cell.reads[0] = stamp;
}

bool conflicts(const Stamp& stamp, const Access& access, std::uint8_t bytes) {
    const bool overlaps = stamp.epoch != 0 && (stamp.bytes & bytes) != 0;
    return overlaps && !(stamp.atomic && access.atomic) && !is_before(stamp, engine->current());
}

// One granule's share of an access: `bytes` of the cell.
void check_granule(const Access& access, Cell& cell, std::uint8_t bytes, bool is_first, bool shared,
                   const std::string& name) {
    ThreadState& me = engine->current();
    const Stamp stamp = stamp_of(access, bytes);
    if (conflicts(cell.write, access, bytes)) report_race(access, me, cell.write, true, shared, name);
    if (conflicts(cell.atomic, access, bytes)) {
        if (access.writes) {
            report_race(access, me, cell.atomic, true, shared, name);
        } else if (is_first) {
            me.doubtful.push_back({access.address, access.size, shared, access.place, cell.atomic, name, kPatience});
        }
    }
    if (!access.writes) {
        remember_read(cell, stamp);
        return;
    }
    for (Stamp& read : cell.reads) {
        if (conflicts(read, access, bytes)) report_race(access, me, read, false, shared, name);
        const bool own = read.thread == stamp.thread && read.block == stamp.block;
        if (own && access.atomic) read.atomic = true;  // the read at the head of a loop around atomicCAS
    }
    (access.atomic ? cell.atomic : cell.write) = stamp;
}

void check_race(const Access& access, Shadow& shadow, std::size_t offset, std::uint32_t generation, bool shared,
                const std::string& name) {
    for (std::size_t first = offset; first < offset + access.size;) {
        const std::size_t next = (first / kGranuleBytes + 1) * kGranuleBytes;
        const std::size_t end = std::min(next, offset + access.size);
        const auto bytes = static_cast<std::uint8_t>(((1u << (end - first)) - 1) << first % kGranuleBytes);
        check_granule(access, shadow.cell(first, generation), bytes, first == offset, shared, name);
        first = end;
    }
}

// Libraries write to tensors of PyTorch's without telling us. What still looks like the poison, nobody has written; but
// of two bytes that is no wonder, so the neighbours count that no kernel has written either. `offset`: in the shadow.
bool host_may_have_written(const Access& access, Shadow& shadow, std::size_t offset) {
    constexpr std::size_t kNeighbours = 16;
    const Allocation* found = find_allocation(access.address);
    if (!found || found->is_exact || !found->holds(access.address, access.size)) return false;
    const char* start = static_cast<const char*>(const_cast<const void*>(access.address));
    const std::size_t before = std::min({kNeighbours, offset, static_cast<std::size_t>(start - found->start)});
    const char* end = start + access.size + kNeighbours;
    for (const char* byte = start - before; byte < end && found->holds(byte, 1); ++byte) {
        if (*byte != poison_at(byte - found->start) && !shadow.is_written(offset + (byte - start), 1)) return true;
    }
    return false;
}

// `offset` is in the shadow, `shown` in what has the name.
void check_initialised(const Access& access, Shadow& shadow, std::size_t offset, long long shown, bool shared,
                       const std::string& name) {
    if (access.writes && !access.atomic) {
        shadow.mark_written(offset, access.size);
    } else if (!shadow.is_written(offset, access.size) && !host_may_have_written(access, shadow, offset)) {
        report(shared ? "uninitialised_shared" : "uninitialised_global",
               text_of(access) + " at offset " + std::to_string(shown) + " of " + name + " that nothing has written",
               access.place);
        shadow.mark_written(offset, access.size);
    }
}

// The shared variable at the address, or the nearest below it.
const SharedVariable* variable_at(std::size_t offset) {
    const SharedVariable* found = nullptr;
    for (const SharedVariable& variable : shared_variables()) {
        if (variable.offset <= offset) found = &variable;
    }
    return found;
}

struct SharedPlace {
    std::string name;
    long long offset;  // in the variable
    std::size_t bytes;  // of the variable
};

SharedPlace locate_shared(const Block& block, const volatile void* address) {
    const auto* byte = static_cast<const char*>(const_cast<const void*>(address));
    if (byte < block.shared.statics() - SharedMemory::kGapBytes / 2) {
        return {"the dynamic shared memory", byte - block.shared.dynamic(), engine->grid().launch->shared_bytes};
    }
    const long long offset = byte - block.shared.statics();
    const SharedVariable* variable = variable_at(offset < 0 ? 0 : static_cast<std::size_t>(offset));
    if (!variable) return {"shared memory", offset, 0};
    return {"__shared__ '" + variable->name + "'", offset - static_cast<long long>(variable->offset), variable->bytes};
}

bool fits(long long offset, std::size_t size, std::size_t bytes) {
    return offset >= 0 && static_cast<std::size_t>(offset) + size <= bytes;
}

std::string out_of_bounds(const Access& access, const std::string& name, long long offset, std::size_t bytes) {
    return text_of(access) + " at offset " + std::to_string(offset) + " of " + name + ", which has " +
           std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

void check_shared(const Access& access, Block& block) {
    const SharedPlace place = locate_shared(block, access.address);
    if (!fits(place.offset, access.size, place.bytes)) {
        report("out_of_bounds_shared", out_of_bounds(access, place.name, place.offset, place.bytes), access.place);
        engine->abort(kErrorIllegalAddress);
    }
    const auto offset = static_cast<std::size_t>(
        static_cast<const char*>(const_cast<const void*>(access.address)) - block.shared.dynamic());
    check_race(access, *block.shadow, offset, block.generation, true, place.name);
    check_initialised(access, *block.shadow, offset, place.offset, true, place.name);
}

// Memory that is no tensor and still the kernel's: constants of its module, and the arguments of the launch.
bool is_known_otherwise(const volatile void* address) {
    const Launch& launch = *engine->grid().launch;
    const auto into = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(launch.argument);
    return into < launch.argument_bytes || belongs_to_kernel_module(address);
}

void check_global(const Access& access) {
    Allocation* found = find_allocation(access.address);
    if ((!found || !found->holds(access.address, 1)) && is_known_otherwise(access.address)) return;
    if (!found) {
        report("out_of_bounds_global", text_of(access) + " at an address in no tensor and no allocation of the device",
               access.place);
        engine->abort(kErrorIllegalAddress);
    }
    const long long offset = static_cast<const char*>(const_cast<const void*>(access.address)) - found->start;
    if (found->freed || !fits(offset, access.size, found->bytes)) {
        const std::string name = found->freed ? found->name + " (already freed)" : found->name;
        report("out_of_bounds_global", out_of_bounds(access, name, offset, found->bytes), access.place);
        engine->abort(kErrorIllegalAddress);
    }
    Shadow& shadow = found->its_shadow();
    check_race(access, shadow, static_cast<std::size_t>(offset), launch_generation, false, found->name);
    if (!found->initialised) {
        check_initialised(access, shadow, static_cast<std::size_t>(offset), offset, false, found->name);
    }
}

template <class T>
bool lies_in(const volatile void* address, const T& object) {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(&object);
    return offset < sizeof object;
}

// The thread's own stack, its built-in variables and what the headers know about it: registers on a device.
bool is_private(const volatile void* address, const ThreadState& thread) {
    return engine->fibre().owns(const_cast<void*>(address)) || lies_in(address, threadIdx) ||
           lies_in(address, blockIdx) || lies_in(address, blockDim) || lies_in(address, gridDim) ||
           lies_in(address, self) || lies_in(address, thread.facts);
}

}  // namespace

void check_access(const Access& access) {
    if (!engine || is_private(access.address, engine->current())) return;
    ThreadState& thread = engine->current();
    thread.arrival.place = access.place;
    engine->count_work();
    if (!thread.doubtful.empty()) settle_doubtful_reads(thread, access);
    if (thread.block->shared.owns(const_cast<void*>(access.address))) {
        check_shared(access, *thread.block);
    } else {
        check_global(access);
    }
}

void checker_starts_launch() {
    ++launch_generation;
    forget_what_was_published();
}

void checker_forgets(Block& block) {
    static std::uint32_t generation = 0;
    if (!block.shadow) block.shadow = std::make_unique<Shadow>(SharedMemory::kBytes);
    block.generation = ++generation;
    const std::size_t statics = SharedMemory::kDynamicBytes + SharedMemory::kGapBytes;
    block.shadow->mark_unwritten(0, std::min(engine->grid().launch->shared_bytes, SharedMemory::kDynamicBytes));
    block.shadow->mark_unwritten(statics, reserved_shared_bytes());
}

void checker_tells_doubtful_reads(ThreadState& thread) {
    for (const DoubtfulRead& read : thread.doubtful) tell(thread, read);
    thread.doubtful.clear();
}

}  // namespace kbemu
