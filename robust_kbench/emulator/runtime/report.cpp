#include "report.h"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "engine.h"

namespace kbemu {
namespace {

constexpr std::size_t kMaxFindings = 64;

struct Finding {
    std::string kind, message, kernel;
    Place place, other;
    bool has_thread, has_other;
    uint3 block, thread;
    Actor other_actor;
    std::uint64_t count;
};

std::mutex mutex;
std::vector<Finding> findings;
std::map<std::string, std::size_t> index_of;

std::string key_of(const std::string& kind, const Place& place, const Place& other) {
    auto part = [](const Place& p) {
        return p.has_site() ? std::string(p.site.file_name()) + ":" + std::to_string(p.site.line()) + ":" +
                                  std::to_string(p.site.column())
                            : std::to_string(reinterpret_cast<std::uintptr_t>(p.counter));
    };
    return kind + "|" + part(place) + "|" + part(other);
}

void add(const char* kind, const std::string& message, Place place, const Place* other, const Actor* who) {
    std::lock_guard<std::mutex> lock(mutex);
    const std::string key = key_of(kind, place, other ? *other : Place{});
    if (auto found = index_of.find(key); found != index_of.end()) {
        ++findings[found->second].count;
        return;
    }
    if (findings.size() >= kMaxFindings) return;
    Finding finding{kind, message, current_kernel(), place, other ? *other : Place{}, self != nullptr, who != nullptr,
                    {},   {},      who ? *who : Actor{},         1};
    if (self) {
        finding.block = self->block;
        finding.thread = self->thread;
    }
    index_of[key] = findings.size();
    findings.push_back(finding);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7f) {
            out += '?';
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string vector_of(uint3 v) {
    return "[" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + "]";
}

// A place in the kernel's shared object becomes an offset, which a symboliser can look up without the process.
std::string place_as_json(const Place& place) {
    if (place.has_site()) {
        return "{\"file\":" + quoted(place.site.file_name()) + ",\"line\":" + std::to_string(place.site.line()) + "}";
    }
    Dl_info info;
    if (place.counter && dladdr(place.counter, &info) && info.dli_fbase) {
        const auto offset = static_cast<const char*>(place.counter) - static_cast<const char*>(info.dli_fbase);
        return "{\"offset\":" + std::to_string(offset) + "}";
    }
    return "{}";
}

}  // namespace

void report(const char* kind, const std::string& message, Place place) { add(kind, message, place, nullptr, nullptr); }

void report_pair(const char* kind, const std::string& message, Place place, Place other, const Actor& who) {
    add(kind, message, place, &other, &who);
}

void clear_report() {
    std::lock_guard<std::mutex> lock(mutex);
    findings.clear();
    index_of.clear();
}

std::string report_as_json() {
    std::lock_guard<std::mutex> lock(mutex);
    std::string out = "[";
    for (const Finding& f : findings) {
        if (out.size() > 1) out += ",";
        out += "{\"kind\":" + quoted(f.kind) + ",\"message\":" + quoted(f.message) + ",\"kernel\":" + quoted(f.kernel);
        out += ",\"count\":" + std::to_string(f.count) + ",\"place\":" + place_as_json(f.place);
        if (f.has_thread) out += ",\"block\":" + vector_of(f.block) + ",\"thread\":" + vector_of(f.thread);
        if (f.has_other) {
            out += ",\"other\":{\"place\":" + place_as_json(f.other) + ",\"block\":" + vector_of(f.other_actor.block) +
                   ",\"thread\":" + vector_of(f.other_actor.thread) + "}";
        }
        out += "}";
    }
    return out + "]";
}

}  // namespace kbemu

extern "C" void kbemu_finding(const char* kind, const char* message, const kbemu::Site* site) {
    kbemu::report(kind, message, kbemu::Place::of(site));
}
