// Stacks and the switch between them.
#pragma once
#include <cstddef>
#include <vector>

namespace kbemu {

constexpr std::size_t kStackBytes = 128 << 10;
constexpr std::size_t kGuardBytes = 4 << 10;

struct Fibre {
    void* stack_pointer;
    char* memory;  // the guard page, then the stack

    char* low() const { return memory + kGuardBytes; }
    char* high() const { return memory + kGuardBytes + kStackBytes; }
    bool owns(const void* address) const { return address >= memory && address < high(); }
    bool guards(const void* address) const { return address >= memory && address < low(); }
};

// Saves the registers that a call preserves, stores the stack pointer in *from and continues at `to`.
extern "C" void kbemu_switch(void** from, void* to);

// Fibres of one operating-system thread; those that ended are used again.
class FibrePool {
public:
    ~FibrePool();
    Fibre* take(void (*entry)());
    void give_back(Fibre* fibre) { idle_.push_back(fibre); }

private:
    std::vector<Fibre*> idle_;
    std::vector<Fibre*> all_;
};

}  // namespace kbemu
