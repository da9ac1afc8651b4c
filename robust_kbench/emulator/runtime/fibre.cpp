#include "fibre.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__x86_64__)
asm(R"(
.text
.globl kbemu_switch
.type kbemu_switch, @function
kbemu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size kbemu_switch, . - kbemu_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl kbemu_switch
.type kbemu_switch, %function
kbemu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size kbemu_switch, . - kbemu_switch
)");
#else
#error "the emulator knows how to switch stacks on x86-64 and aarch64 only"
#endif

namespace kbemu {
namespace {

// A frame as kbemu_switch leaves it, whose return address is `entry`.
void* fresh_frame(char* high, void (*entry)()) {
    auto top = reinterpret_cast<std::uintptr_t>(high) & ~std::uintptr_t{15};
#if defined(__x86_64__)
    constexpr std::size_t kRegisters = 6;
    auto* frame = reinterpret_cast<void**>(top) - 1 - 1 - kRegisters;  // a word keeps the alignment of a call
    for (std::size_t i = 0; i < kRegisters; ++i) frame[i] = nullptr;
    frame[kRegisters] = reinterpret_cast<void*>(entry);
    frame[kRegisters + 1] = nullptr;
#else
    constexpr std::size_t kWords = 20, kLinkRegister = 11;
    auto* frame = reinterpret_cast<void**>(top) - kWords;
    for (std::size_t i = 0; i < kWords; ++i) frame[i] = nullptr;
    frame[kLinkRegister] = reinterpret_cast<void*>(entry);
#endif
    return frame;
}

}  // namespace

Fibre* FibrePool::take(void (*entry)()) {
    Fibre* fibre;
    if (idle_.empty()) {
        void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        mprotect(memory, kGuardBytes, PROT_NONE);
        fibre = new Fibre{nullptr, static_cast<char*>(memory)};
        all_.push_back(fibre);
    } else {
        fibre = idle_.back();
        idle_.pop_back();
    }
    fibre->stack_pointer = fresh_frame(fibre->high(), entry);
    return fibre;
}

FibrePool::~FibrePool() {
    for (Fibre* fibre : all_) {
        munmap(fibre->memory, kGuardBytes + kStackBytes);
        delete fibre;
    }
}

}  // namespace kbemu
