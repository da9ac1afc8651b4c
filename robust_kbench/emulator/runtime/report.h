// Findings of the current call, each told once and counted.
#pragma once
#include <cstdint>
#include <string>

#include "kbemu/runtime.h"

namespace kbemu {

// Where a finding was made: a line that the compiler told us, or a program counter that is looked up later.
struct Place {
    Site site = {};
    const void* counter = nullptr;

    static Place of(const Site* site) { return {site ? *site : Site{}, nullptr}; }
    static Place at(const void* counter) { return {{}, counter}; }
    bool has_site() const { return site.line() != 0; }
};

// Who made an access.
struct Actor {
    uint3 block{};
    uint3 thread{};
};

void report(const char* kind, const std::string& message, Place place);
// The second place is the other end of a race.
void report_pair(const char* kind, const std::string& message, Place place, Place other, const Actor& who);

void clear_report();
std::string report_as_json();

}  // namespace kbemu
