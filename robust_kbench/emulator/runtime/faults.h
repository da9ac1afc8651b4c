// Signals that a kernel raises: turned into findings and a failed launch, as a device would.
#pragma once

namespace kbemu {

// For the life of one launch; the process's own handlers come back after it.
class FaultGuard {
public:
    FaultGuard();
    ~FaultGuard();
    FaultGuard(const FaultGuard&) = delete;
};

// Each operating-system thread that runs fibres needs a stack for its handlers.
void prepare_signal_stack();

}  // namespace kbemu
