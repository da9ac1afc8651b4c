#include "shadow.h"

#include <cstring>

namespace kbemu {
namespace {

constexpr std::uint64_t kIsSite = std::uint64_t{1} << 63;

}  // namespace

static_assert(sizeof(Site) == sizeof(std::uint64_t), "a source location is one pointer");

std::uint64_t packed(const Place& place) {
    if (!place.has_site()) return reinterpret_cast<std::uintptr_t>(place.counter);
    std::uint64_t bits;
    std::memcpy(&bits, &place.site, sizeof bits);
    return bits | kIsSite;
}

Place unpacked(std::uint64_t bits) {
    if (!(bits & kIsSite)) return Place::at(reinterpret_cast<const void*>(bits));
    Place place;
    bits &= ~kIsSite;
    std::memcpy(static_cast<void*>(&place.site), &bits, sizeof bits);
    return place;
}

Shadow::Chunk& Shadow::chunk(std::size_t offset) {
    auto& chunk = chunks_[offset / kChunkBytes];
    if (!chunk) chunk = std::make_unique<Chunk>();
    return *chunk;
}

Cell& Shadow::cell(std::size_t offset, std::uint32_t generation) {
    Cell& cell = chunk(offset).cells[offset % kChunkBytes / kGranuleBytes];
    if (cell.generation != generation) {
        cell = Cell{};
        cell.generation = generation;
    }
    return cell;
}

void Shadow::mark_written(std::size_t offset, std::size_t size) {
    for (std::size_t i = offset; i < offset + size; ++i) chunk(i).written[i % kChunkBytes] = true;
}

void Shadow::mark_unwritten(std::size_t offset, std::size_t size) {
    for (std::size_t i = offset; i < offset + size; ++i) {
        if (const auto& chunk = chunks_[i / kChunkBytes]) chunk->written[i % kChunkBytes] = false;
    }
}

bool Shadow::is_written(std::size_t offset, std::size_t size) const {
    for (std::size_t i = offset; i < offset + size; ++i) {
        const auto& chunk = chunks_[i / kChunkBytes];
        if (!chunk || !chunk->written[i % kChunkBytes]) return false;
    }
    return true;
}

}  // namespace kbemu
