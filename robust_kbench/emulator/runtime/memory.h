// Global memory as the emulated device knows it: tensors of the call, allocations, device variables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shadow.h"

namespace kbemu {

enum class Origin { kTensor, kAllocation, kSymbol };

struct Allocation {
    char* start;
    std::size_t bytes;
    std::string name;
    Origin origin;
    bool is_exact = true;     // every write to it is seen
    bool initialised = true;  // as a whole; otherwise `shadow` knows which bytes are
    bool freed = false;
    std::unique_ptr<Shadow> shadow;

    char* end() const { return start + bytes; }
    bool holds(const volatile void* address, std::size_t size) const;
    Shadow& its_shadow();
};

// The live or recently freed allocation that holds the first byte, or else the nearest one within reach of an index
// that is off by some rows; null when there is none.
Allocation* find_allocation(const volatile void* address);

// Static shared memory: the declarations met so far.
struct SharedVariable {
    std::string name, kernel;
    std::uint64_t launch;  // the number of the one that met it first
    std::size_t offset, bytes;
};
// What fresh memory holds at an offset from its start.
char poison_at(std::ptrdiff_t offset);

std::size_t reserved_shared_bytes();
// Declared in a kernel, as far as it has run. The name may be a pointer's, through which the host launches several
// kernels: what different launches met first is not added up, and the smallest of them is what is certain.
std::size_t static_shared_bytes_of(const std::string& kernel);
// What is wrong with a kernel's use of shared memory; empty when nothing is.
std::string shared_memory_exceeded(const std::string& kernel, std::size_t dynamic_bytes);
const std::vector<SharedVariable>& shared_variables();

void forget_tensors();
// Reports writes into the red zones of all live allocations.
void check_red_zones();
// Allocations that the call made and did not free are released; symbols stay.
void release_quarantine();

}  // namespace kbemu
