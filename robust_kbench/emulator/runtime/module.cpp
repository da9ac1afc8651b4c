#include "module.h"

#include <link.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace kbemu {
namespace {

using Range = std::pair<std::uintptr_t, std::uintptr_t>;

std::uintptr_t entered = 0;
std::vector<Range> ranges;

int collect(dl_phdr_info* info, std::size_t, void* wanted) {
    const auto function = reinterpret_cast<std::uintptr_t>(wanted);
    std::vector<Range> found;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
        found.emplace_back(start, start + segment.p_memsz);
        holds |= function >= start && function < start + segment.p_memsz;
    }
    if (holds) ranges = found;
    return holds;
}

}  // namespace

void enter_module_of(const void* function) {
    const auto address = reinterpret_cast<std::uintptr_t>(function);
    if (address == entered) return;
    entered = address;
    dl_iterate_phdr(collect, const_cast<void*>(function));
}

bool belongs_to_kernel_module(const volatile void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (const auto& [start, end] : ranges) {
        if (wanted >= start && wanted < end) return true;
    }
    return false;
}

}  // namespace kbemu
