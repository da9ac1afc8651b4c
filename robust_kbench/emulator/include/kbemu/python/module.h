// PYBIND11_MODULE with functions: what most kernels use of pybind11, which alone takes three seconds to compile.
// Sources that need more of it are compiled with the whole: see torch_headers.py.
#pragma once
#include "kbemu/python/functions.h"

namespace kbemu::python {

struct DefaultArgument {
    const char* name;
    Object* value;
};

struct arg {
    const char* name;
    constexpr explicit arg(const char* name_ = nullptr) : name(name_) {}
    arg& noconvert(bool = true) { return *this; }
    arg& none(bool = true) { return *this; }

    template <class T>
    DefaultArgument operator=(const T& value) const {
        return {name, wrap(value)};
    }
};

// Accepted, and without effect: the interpreter's lock is held all the time.
struct gil_scoped_release {
    gil_scoped_release() {}
};
struct gil_scoped_acquire {
    gil_scoped_acquire() {}
};
template <class... Guards>
struct call_guard {};
enum class return_value_policy { automatic, automatic_reference, take_ownership, copy, move, reference };

namespace literals {

constexpr arg operator""_a(const char* name, std::size_t) {
    return arg(name);
}

}  // namespace literals

// What m.def() says about a function besides its name. Owns nothing: names are literals, defaults live for ever.
struct Definition {
    const char* name;
    const char* documentation = "";
    Callable* callable;
    std::vector<DefaultArgument> parameters;  // empty, or one for each parameter; value null without a default

    void add(const char* text) { documentation = text; }
    void add(const arg& parameter) { parameters.push_back({parameter.name, nullptr}); }
    void add(const DefaultArgument& parameter) { parameters.push_back(parameter); }
    void add(return_value_policy) {}
    template <class... Guards>
    void add(call_guard<Guards...>) {}
};

class module_ {
public:
    explicit module_(Object* object) : object_(object) {}

    template <class Function, class... Extra>
    module_& def(const char* name, Function&& function, const Extra&... extra) {
        Definition definition{name, "", make_callable(std::forward<Function>(function)), {}};
        (definition.add(extra), ...);
        define(definition);
        return *this;
    }

    // m.doc() = "...": the text is dropped.
    std::string& doc() { return documentation_; }

private:
    void define(const Definition& definition);

    Object* object_;
    std::string documentation_;
};

using module = module_;

Object* create_module(const char* name, void (*fill)(module_&));

}  // namespace kbemu::python

#ifndef KBEMU_TORCH_LIBRARY
namespace pybind11 {

using namespace kbemu::python;

}  // namespace pybind11

namespace py = pybind11;

// Two levels, so that TORCH_EXTENSION_NAME is replaced before its name is taken.
#define KBEMU_MODULE(name, variable) \
    static void kbemu_fill_module(::kbemu::python::module_&); \
    extern "C" __attribute__((visibility("default"))) ::kbemu::python::Object* PyInit_##name() { \
        return ::kbemu::python::create_module(#name, kbemu_fill_module); \
    } \
    static void kbemu_fill_module([[maybe_unused]] ::kbemu::python::module_& variable)
#define PYBIND11_MODULE(name, variable, ...) KBEMU_MODULE(name, variable)
#endif
