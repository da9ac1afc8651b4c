// What the checker remembers about memory: for every two bytes the last write, the last atomic access and two reads, for every byte whether it
// was ever written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "report.h"

namespace kbemu {

// One access, as later ones are compared with it.
struct Stamp {
    std::uint32_t block = 0;
    std::uint32_t epoch = 0;  // 0: no access
    std::uint32_t clock = 0;
    std::uint16_t thread = 0;
    std::uint8_t bytes = 0;  // which of the granule's two bytes
    bool atomic = false;
    std::uint64_t place = 0;
};

struct Cell {
    std::uint32_t generation = 0;  // of another launch or block: the cell is empty
    Stamp write;
    Stamp atomic;  // kept apart: a thread's own atomic must not hide its plain write from the others
    Stamp reads[2];
};

constexpr std::size_t kGranuleBytes = 2;

// Grows where memory is touched: a cooperative grid has a thousand blocks, each with some hundred KiB of room.
class Shadow {
public:
    explicit Shadow(std::size_t bytes) : chunks_(bytes / kChunkBytes + 1) {}
    Cell& cell(std::size_t offset, std::uint32_t generation);
    void mark_written(std::size_t offset, std::size_t size);
    void mark_unwritten(std::size_t offset, std::size_t size);
    bool is_written(std::size_t offset, std::size_t size) const;

private:
    static constexpr std::size_t kChunkBytes = 2048;
    struct Chunk {
        Cell cells[kChunkBytes / kGranuleBytes];
        bool written[kChunkBytes];
    };

    Chunk& chunk(std::size_t offset);
    std::vector<std::unique_ptr<Chunk>> chunks_;
};

std::uint64_t packed(const Place& place);
Place unpacked(std::uint64_t bits);

}  // namespace kbemu
