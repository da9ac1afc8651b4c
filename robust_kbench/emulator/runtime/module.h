// The shared object that holds the running kernel: its constants are no tensors, and still no foreign memory.
#pragma once

namespace kbemu {

void enter_module_of(const void* function);
bool belongs_to_kernel_module(const volatile void* address);

}  // namespace kbemu
