// Gives torch's tensors memory of the emulated device: exact bounds, red zones and poison. Tensors that were made
// before this library was loaded keep theirs, and free it as before: a tensor carries its own way of freeing.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "kbemu/runtime.h"

namespace kbemu {
namespace {

void release(void* pointer) {
    if (pointer) kbemu_free(pointer);
}

class DeviceMemory final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        void* pointer = bytes ? kbemu_allocate(bytes, "torch tensor") : nullptr;
        TORCH_CHECK(pointer || !bytes, "out of memory: ", bytes, " bytes");
        return {pointer, pointer, &release, c10::Device(c10::kCPU)};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &release; }

    void copy_data(void* target, const void* source, std::size_t bytes) const override {
        default_copy_data(target, source, bytes);
    }
};

// Torch frees tensors until the process ends: the allocator is never destroyed.
const bool installed = [] {
    c10::SetCPUAllocator(new DeviceMemory, /*priority=*/100);
    return true;
}();

}  // namespace
}  // namespace kbemu
