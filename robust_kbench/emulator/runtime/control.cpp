// What the worker calls around a call of the submission.
#include <algorithm>
#include <string>

#include "engine.h"
#include "memory.h"

namespace kbemu {

void clear_errors();

}  // namespace kbemu

using namespace kbemu;

extern "C" {

void kbemu_begin(int schedule, std::uint64_t seed, std::uint32_t poison, int checked, int cores, std::uint64_t work_limit,
                 unsigned cpu_seconds) {
    settings.schedule = static_cast<Schedule>(schedule);
    settings.seed = seed;
    settings.poison = poison;
    settings.checked = checked != 0;
    settings.cores = static_cast<unsigned>(std::max(cores, 1));
    settings.work_limit = work_limit;
    settings.cpu_seconds = cpu_seconds;
    clear_errors();
    clear_report();
}

const char* kbemu_end() {
    static std::string json;
    check_red_zones();
    release_quarantine();
    forget_tensors();
    json = report_as_json();
    return json.c_str();
}
}
