// Barriers of a block and of the grid, and waiting without one.
#include "checker.h"
#include "engine.h"

namespace kbemu {

void complete_collectives_without(ThreadState& ended);

namespace {

bool is_waiting(const ThreadState& thread) { return thread.state == State::kAtBlockBarrier; }

// `running` arrived last and is not asleep; null when the end of another thread completed the barrier.
void complete_block_barrier(Block& block, ThreadState* running) {
    int count = 0, all = 1;
    const ThreadState *first = nullptr, *different = nullptr;
    for (const ThreadState* thread : block.order) {
        if (!is_waiting(*thread)) continue;
        const Site& site = thread->arrival.place.site;
        if (!first) first = thread;
        const Site& expected = first->arrival.place.site;
        if (site.line() != expected.line() || site.column() != expected.column()) different = thread;
        count += thread->arrival.predicate != 0;
        all &= thread->arrival.predicate != 0;
    }
    if (different) {
        report_pair("divergent_barrier", "threads of one block wait at different barriers", different->arrival.place,
                    first->arrival.place, {first->facts.block, first->facts.thread});
    }
    if (settings.checked) checker_passes_block_barrier(block);
    block.at_barrier = 0;
    engine->note_progress();
    for (ThreadState* thread : block.order) {
        if (!is_waiting(*thread)) continue;
        const BarrierOperation operation = thread->arrival.operation;
        thread->arrival.reduced = operation == kBarrierCount ? count : operation == kBarrierAnd ? all : count > 0;
        if (thread == running) {
            thread->state = State::kReady;
        } else {
            engine->make_ready(*thread);
        }
    }
}

}  // namespace

void thread_exited(ThreadState& thread) {
    Block& block = *thread.block;
    if (settings.checked) checker_tells_doubtful_reads(thread);
    --block.alive;
    engine->note_progress();
    complete_collectives_without(thread);
    if (block.alive > 0 && block.at_barrier == block.alive) complete_block_barrier(block, nullptr);
}

bool wake_spinning(Block& block) {
    if (block.spinning == 0) return false;
    block.spinning = 0;
    for (ThreadState* thread : block.order) {
        if (thread->state == State::kSpinning) engine->make_ready(*thread);
    }
    return true;
}

// Gives way until everybody else has run.
void spin() {
    ++engine->current().block->spinning;
    engine->suspend(State::kSpinning);
}

}  // namespace kbemu

using namespace kbemu;

extern "C" {

int kbemu_block_sync(BarrierOperation operation, int predicate, const Site* site) {
    ThreadState& thread = engine->current();
    Block& block = *thread.block;
    engine->count_work();
    thread.arrival.place = Place::of(site);
    thread.arrival.operation = operation;
    thread.arrival.predicate = predicate;
    thread.state = State::kAtBlockBarrier;
    if (++block.at_barrier == block.alive) {
        complete_block_barrier(block, &thread);
    } else {
        engine->suspend(State::kAtBlockBarrier);
    }
    return thread.arrival.reduced;
}

void kbemu_named_barrier(unsigned id, unsigned threads, bool arrive_only, const Site* site) {
    ThreadState& thread = engine->current();
    Block& block = *thread.block;
    NamedBarrier& barrier = block.barriers[id % 16];
    const unsigned expected = threads ? threads : static_cast<unsigned>(block.threads.size());
    engine->count_work();
    thread.arrival.place = Place::of(site);
    if (settings.checked) checker_arrives(thread, barrier.knowledge);
    if (++barrier.arrived >= expected) {
        if (settings.checked) {
            for (ThreadState* other : barrier.waiting) checker_leaves(*other, barrier.knowledge);
            if (!arrive_only) checker_leaves(thread, barrier.knowledge);
        }
        for (ThreadState* other : barrier.waiting) engine->make_ready(*other);
        barrier = NamedBarrier{};
        engine->note_progress();
    } else if (!arrive_only) {
        barrier.waiting.push_back(&thread);
        engine->suspend(State::kAtNamedBarrier);
    }
}

void kbemu_grid_sync(const Site* site) {
    ThreadState& thread = engine->current();
    engine->count_work();
    thread.arrival.place = Place::of(site);
    if (!engine->grid().launch->cooperative) {
        report("launch_limit", "grid.sync() needs a cooperative launch (cudaLaunchCooperativeKernel)",
               thread.arrival.place);
        engine->abort(kErrorLaunchFailure);
    }
    ++thread.block->at_grid;
    engine->suspend(State::kAtGridBarrier);
}

void kbemu_yield() {
    if (self) spin();
}

[[noreturn]] void kbemu_exit_thread() { engine->exit_thread(); }

[[noreturn]] void kbemu_trap(const char* what, const Site* site) {
    report("trap", what, Place::of(site));
    engine->abort(kErrorAssert);
}

[[noreturn]] void kbemu_unsupported(const char* feature, const Site* site) {
    report("unsupported", feature, Place::of(site));
    if (self) engine->abort(kErrorNotSupported);
    throw UnsupportedFeature(std::string("the emulator cannot run ") + feature);
}
}
