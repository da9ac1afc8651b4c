// Threads, warps and blocks of a launch, and the engine that runs some of its blocks on one operating-system thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "clocks.h"
#include "fibre.h"
#include "kbemu/qualifiers.h"
#include "kbemu/runtime.h"
#include "report.h"
#include "shadow.h"

namespace kbemu {

enum class State : std::uint8_t {
    kFresh,
    kReady,
    kInWarpCollective,
    kAsksForActiveMask,
    kAtBlockBarrier,
    kAtNamedBarrier,
    kAtGridBarrier,
    kSpinning,
    kDone,
};

// What a thread brought to a collective or a barrier, and what it takes home.
struct Arrival {
    Place place;
    const char* intrinsic = "";
    unsigned mask = 0;
    void* value = nullptr;
    std::size_t size = 0;
    int from = -1;         // a shuffle reads this lane
    void* all = nullptr;   // a gather writes here
    int predicate = 0;
    BarrierOperation operation = kBarrierSync;
    unsigned participants = 0;
    unsigned ballot = 0;
    int reduced = 0;
};

// An address that the thread has looked at again and again without finding anything new.
struct Spin {
    const volatile void* address = nullptr;
    std::uint64_t value = 0;
    unsigned looks = 0;
};

// A plain read that raced with an atomic access. The loop around atomicCAS begins with such a read, and is right: its
// atomic follows, and would fail on a stale value. So the race is told only when no atomic on the address follows.
struct DoubtfulRead {
    const volatile void* address;
    std::size_t size;
    bool shared;
    Place place;
    Stamp earlier;
    std::string name;
    unsigned patience;  // accesses until it is told
};

struct Block;

struct ThreadState {
    Thread facts;
    State state = State::kFresh;
    Fibre* fibre = nullptr;
    Block* block = nullptr;
    Arrival arrival;
    ThreadClock clock;
    Spin spin;
    std::vector<DoubtfulRead> doubtful;
};

struct NamedBarrier {
    unsigned arrived = 0;
    Knowledge knowledge;
    std::vector<ThreadState*> waiting;
};

// Memory of one block: the dynamic part, a gap, the static part.
class SharedMemory {
public:
    static constexpr std::size_t kDynamicBytes = 256 << 10, kStaticBytes = 256 << 10, kGapBytes = 4 << 10;
    static constexpr std::size_t kBytes = kDynamicBytes + kGapBytes + kStaticBytes + kGapBytes;

    SharedMemory();
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    char* dynamic() const { return memory_; }
    char* statics() const { return memory_ + kDynamicBytes + kGapBytes; }
    bool owns(const void* address) const { return address >= memory_ && address < memory_ + kBytes; }
    void poison(std::size_t dynamic_bytes, std::uint32_t pattern);

private:
    char* memory_;
};

// Lanes of one warp, as bits.
struct WarpLanes {
    unsigned alive = 0;
    unsigned waiting = 0;  // in a collective
};

struct Block {
    uint3 index{};
    std::vector<ThreadState> threads;
    std::vector<WarpLanes> warp_lanes;
    std::vector<ThreadState*> order;  // in which fresh threads start
    std::size_t next_fresh = 0;
    std::deque<ThreadState*> ready;
    unsigned alive = 0, at_barrier = 0, at_grid = 0, spinning = 0;
    NamedBarrier barriers[16];
    SharedMemory shared;
    BlockClock clock;
    std::unique_ptr<Shadow> shadow;  // of the shared memory, in checked builds
    std::uint32_t generation = 0;    // of the shadow's contents

    void prepare(const Launch& launch, std::uint64_t number);
    ThreadState& thread(unsigned warp, unsigned lane) { return threads[warp * kWarpSize + lane]; }
};

// How the next call shall run; set by kbemu_begin.
struct Settings {
    Schedule schedule = kForward;
    std::uint64_t seed = 0;
    std::uint32_t poison = 0x7fa5a5a5;
    bool checked = false;
    unsigned cores = 1;
    std::uint64_t work_limit = 0;
    unsigned cpu_seconds = 0;
};
extern Settings settings;

// What all engines of a launch share.
struct Grid {
    const Launch* launch = nullptr;
    std::uint64_t blocks = 0;
    std::atomic<std::uint64_t> next_block{0};
    std::atomic<int> busy_engines{0};
    std::atomic<bool> aborted{false};
    std::atomic<int> error{0};
};

class Engine {
public:
    void run(Grid& grid);

    // For the fibres of this engine.
    ThreadState& current() { return *current_; }
    const Grid& grid() const { return *grid_; }
    const Fibre& fibre() const { return *fibre_; }
    const std::deque<std::unique_ptr<Block>>& live() const { return live_; }
    void suspend(State state);
    [[noreturn]] void exit_thread();
    // Ends the launch; the error is what cudaGetLastError will return.
    [[noreturn]] void abort(int error);
    void make_ready(ThreadState& thread);
    void count_work(std::uint64_t units = 1);
    void note_progress() { ++progress_; }

private:
    enum class Outcome { kDone, kWaits, kStuck };

    static void fibre_main();
    [[noreturn]] void leave();
    bool start_block();
    void run_live_blocks();
    Outcome advance(Block& block);
    ThreadState* pick(Block& block);
    void resume(ThreadState& thread);
    void start_fibre(Block& block);
    void retire(std::size_t index);
    bool release_grid_barrier();
    void report_deadlock(const Block& block, const std::string& reason);
    void set_idle(bool idle);
    void drop_everything();
    void become(ThreadState& thread);

    Grid* grid_ = nullptr;
    FibrePool fibres_;
    Fibre* fibre_ = nullptr;
    ThreadState* current_ = nullptr;
    Block* starting_ = nullptr;
    void* own_stack_pointer_ = nullptr;
    std::deque<std::unique_ptr<Block>> live_;
    std::vector<std::unique_ptr<Block>> spare_;
    std::mt19937_64 random_;
    std::uint64_t work_ = 0, progress_ = 0;
    bool idle_ = false;
};

// Codes of cudaError_t that the runtime library gives by itself.
enum : int {
    kErrorInvalidValue = 1,
    kErrorInvalidConfiguration = 9,
    kErrorIllegalAddress = 700,
    kErrorLaunchTimeout = 702,
    kErrorAssert = 710,
    kErrorLaunchFailure = 719,
    kErrorCooperativeLaunchTooLarge = 720,
    kErrorNotSupported = 801,
};

// The engine of this operating-system thread while it runs a launch.
extern thread_local Engine* engine;

// The kernel that the host is launching, before any engine runs it.
extern const char* launching;
extern std::uint64_t launches;  // so far
const char* current_kernel();

// barriers.cpp and collectives.cpp: what follows for the others when a thread ends, and what becomes possible when
// nothing else in a block can run.
void thread_exited(ThreadState& thread);
bool resolve_active_masks(Block& block);
bool force_warp_collective(Block& block);
bool wake_spinning(Block& block);

}  // namespace kbemu
