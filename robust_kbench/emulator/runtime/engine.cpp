#include "engine.h"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker.h"
#include "memory.h"

KBEMU_PER_THREAD uint3 threadIdx;
KBEMU_PER_THREAD uint3 blockIdx;
KBEMU_PER_THREAD dim3 blockDim;
KBEMU_PER_THREAD dim3 gridDim;

namespace kbemu {

thread_local Thread* self = nullptr;
thread_local Engine* engine = nullptr;
Settings settings;
const char* launching = "";
std::uint64_t launches = 0;

namespace {

// So often threads may find nothing new while no other engine runs, before that is called a deadlock.
constexpr unsigned kIdleRounds = 2000;

std::string stuck(const Block& block) {
    return "of " + std::to_string(block.alive) + " running threads of the block none can go on: " +
           std::to_string(block.at_barrier) + " wait at a barrier of the block, " + std::to_string(block.spinning) +
           " spin";
}

// A permutation of the blocks that needs no memory: steps of a fixed length that shares no factor with their number.
std::uint64_t block_in_order(std::uint64_t position, std::uint64_t blocks) {
    if (settings.schedule == kForward) return position;
    if (settings.schedule == kReverse) return blocks - 1 - position;
    std::mt19937_64 random(settings.seed);
    const std::uint64_t start = random() % blocks;
    std::uint64_t step = 1 + random() % blocks;
    while (std::gcd(step, blocks) != 1) ++step;
    return static_cast<std::uint64_t>((start + static_cast<unsigned __int128>(position) * step) % blocks);
}

}  // namespace

const char* current_kernel() { return engine ? engine->grid().launch->kernel : launching; }

void Engine::become(ThreadState& thread) {
    current_ = &thread;
    self = &thread.facts;
    threadIdx = thread.facts.thread;
    blockIdx = thread.facts.block;
}

// A fibre starts one fresh thread after the other until one has to wait: a kernel without barriers is a plain loop.
void Engine::fibre_main() {
    Engine& me = *engine;
    for (;;) {
        Block& block = *me.starting_;
        if (block.next_fresh == block.order.size() || !block.ready.empty() || me.grid_->aborted) me.leave();
        ThreadState& thread = *block.order[block.next_fresh++];
        thread.state = State::kReady;
        thread.fibre = me.fibre_;
        me.become(thread);
        me.count_work();
        me.grid_->launch->body(me.grid_->launch->argument);
        thread.state = State::kDone;
        thread_exited(thread);
    }
}

void Engine::leave() {
    fibres_.give_back(fibre_);
    if (current_->fibre == fibre_) current_->fibre = nullptr;
    void* discarded;
    kbemu_switch(&discarded, own_stack_pointer_);
    __builtin_unreachable();
}

void Engine::start_fibre(Block& block) {
    starting_ = &block;
    fibre_ = fibres_.take(&Engine::fibre_main);
    kbemu_switch(&own_stack_pointer_, fibre_->stack_pointer);
    self = nullptr;
}

void Engine::resume(ThreadState& thread) {
    starting_ = thread.block;
    fibre_ = thread.fibre;
    become(thread);
    kbemu_switch(&own_stack_pointer_, fibre_->stack_pointer);
    self = nullptr;
}

void Engine::suspend(State state) {
    ThreadState& thread = *current_;
    thread.state = state;
    if (ThreadState* next = pick(*thread.block)) {  // without a detour through the engine's own loop
        fibre_ = next->fibre;
        become(*next);
        kbemu_switch(&thread.fibre->stack_pointer, fibre_->stack_pointer);
    } else {
        kbemu_switch(&thread.fibre->stack_pointer, own_stack_pointer_);
    }
}

void Engine::exit_thread() {
    current_->state = State::kDone;
    thread_exited(*current_);
    leave();
}

void Engine::abort(int error) {
    grid_->error = error;
    grid_->aborted = true;
    leave();
}

void Engine::make_ready(ThreadState& thread) {
    thread.state = State::kReady;
    thread.block->ready.push_back(&thread);
}

void Engine::count_work(std::uint64_t units) {
    work_ += units;
    if (settings.work_limit && work_ > settings.work_limit) {
        report("work_limit", "the kernel did not end within " + std::to_string(settings.work_limit) +
                                 " units of emulated work", current_->arrival.place);
        abort(kErrorLaunchTimeout);
    }
}

ThreadState* Engine::pick(Block& block) {
    if (block.ready.empty()) return nullptr;
    std::size_t index = 0;
    if (settings.schedule == kReverse) index = block.ready.size() - 1;
    if (settings.schedule == kShuffled) index = random_() % block.ready.size();
    ThreadState* thread = block.ready[index];
    block.ready.erase(block.ready.begin() + static_cast<std::ptrdiff_t>(index));
    return thread;
}

Engine::Outcome Engine::advance(Block& block) {
    while (!grid_->aborted) {
        if (ThreadState* thread = pick(block)) {
            resume(*thread);
        } else if (block.next_fresh < block.order.size()) {
            start_fibre(block);
        } else if (block.alive == 0) {
            return Outcome::kDone;
        } else if (!resolve_active_masks(block)) {
            const bool waits = block.spinning > 0 || block.at_grid == block.alive;
            return waits ? Outcome::kWaits : Outcome::kStuck;
        }
    }
    return Outcome::kWaits;
}

void Engine::run_live_blocks() {
    for (std::size_t i = 0; i < live_.size() && !grid_->aborted;) {
        switch (advance(*live_[i])) {
            case Outcome::kDone: retire(i); break;
            case Outcome::kWaits: ++i; break;
            case Outcome::kStuck:
                if (!force_warp_collective(*live_[i])) report_deadlock(*live_[i], stuck(*live_[i]));
        }
    }
}

bool Engine::start_block() {
    const std::uint64_t taken = grid_->next_block.fetch_add(1);
    if (taken >= grid_->blocks) return false;
    const std::uint64_t number = block_in_order(taken, grid_->blocks);
    if (spare_.empty()) spare_.push_back(std::make_unique<Block>());
    live_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    Block& block = *live_.back();
    block.prepare(*grid_->launch, number);
    if (settings.checked) checker_forgets(block);
    if (settings.schedule == kReverse) std::reverse(block.order.begin(), block.order.end());
    if (settings.schedule == kShuffled) std::shuffle(block.order.begin(), block.order.end(), random_);
    return true;
}

void Engine::retire(std::size_t index) {
    spare_.push_back(std::move(live_[index]));
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    note_progress();
}

bool Engine::release_grid_barrier() {
    for (const auto& block : live_) {
        if (block->at_grid != block->alive) return false;
    }
    if (live_.size() < grid_->blocks) {  // all blocks have started, so that the others have ended
        report_deadlock(*live_.front(), "blocks of the grid have ended that others wait for at grid.sync()");
        return true;
    }
    if (settings.checked) checker_passes_grid_barrier();
    for (const auto& block : live_) {
        block->at_grid = 0;
        for (ThreadState* thread : block->order) {
            if (thread->state == State::kAtGridBarrier) make_ready(*thread);
        }
    }
    return true;
}

void Engine::report_deadlock(const Block& block, const std::string& reason) {
    const auto waits = [](const ThreadState& thread) { return thread.state != State::kDone; };
    const auto& thread = *std::find_if(block.threads.begin(), block.threads.end(), waits);
    self = const_cast<Thread*>(&thread.facts);
    report("deadlock", reason, thread.arrival.place);
    self = nullptr;
    grid_->error = kErrorLaunchFailure;
    grid_->aborted = true;
}

void Engine::set_idle(bool idle) {
    if (idle == idle_) return;
    idle_ = idle;
    grid_->busy_engines += idle ? -1 : 1;
}

void Engine::drop_everything() {
    for (auto& block : live_) {
        for (ThreadState& thread : block->threads) {
            const bool suspended = thread.fibre && thread.state != State::kDone && thread.state != State::kFresh;
            if (suspended) fibres_.give_back(thread.fibre);
        }
        spare_.push_back(std::move(block));
    }
    live_.clear();
}

void Engine::run(Grid& grid) {
    grid_ = &grid;
    engine = this;
    work_ = 0;
    random_.seed(settings.seed);
    blockDim = grid.launch->block;
    gridDim = grid.launch->grid;
    idle_ = true;
    set_idle(false);
    unsigned idle_rounds = 0;
    while (!grid.aborted) {
        const std::uint64_t before = progress_;
        run_live_blocks();
        if (grid.aborted || start_block()) continue;
        if (live_.empty()) break;
        if (release_grid_barrier()) continue;
        set_idle(progress_ == before);
        idle_rounds = idle_ && grid.busy_engines == 0 ? idle_rounds + 1 : 0;
        if (idle_rounds > kIdleRounds) report_deadlock(*live_.front(), stuck(*live_.front()));
        for (const auto& block : live_) wake_spinning(*block);
        if (idle_) sched_yield();
    }
    set_idle(true);
    drop_everything();
    engine = nullptr;
}

}  // namespace kbemu
