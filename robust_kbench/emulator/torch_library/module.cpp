// A Python module made of the functions that a kernel's PYBIND11_MODULE defines.
#include <torch/csrc/utils/pybind.h>

#include "kbemu/python/module.h"

namespace kbemu::python {
namespace {

[[noreturn]] void refuse(const Definition& definition, const std::string& problem) {
    throw py::type_error(std::string(definition.name) + "(): " + problem);
}

std::string parameter_name(const Definition& definition, std::size_t index) {
    const bool named = index < definition.parameters.size() && definition.parameters[index].name;
    return named ? definition.parameters[index].name : "arg" + std::to_string(index);
}

std::size_t parameter_index(const Definition& definition, const std::string& name) {
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
        if (parameter_name(definition, i) == name) return i;
    }
    refuse(definition, "unexpected keyword argument '" + name + "'");
}

// One object for each parameter: by place, by name, or the default.
std::vector<Object*> arrange(const Definition& definition, const py::args& args, const py::kwargs& kwargs) {
    std::vector<Object*> objects(definition.callable->parameters());
    if (args.size() > objects.size()) refuse(definition, "too many arguments");
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) objects[i] = definition.parameters[i].value;
    for (std::size_t i = 0; i < args.size(); ++i) objects[i] = reinterpret_cast<Object*>(args[i].ptr());
    for (const auto& [key, value] : kwargs) {
        objects[parameter_index(definition, py::cast<std::string>(key))] = reinterpret_cast<Object*>(value.ptr());
    }
    for (std::size_t i = 0; i < objects.size(); ++i) {
        if (!objects[i]) refuse(definition, "missing argument '" + parameter_name(definition, i) + "'");
    }
    return objects;
}

py::object call(const Definition& definition, const py::args& args, const py::kwargs& kwargs) {
    const std::vector<Object*> objects = arrange(definition, args, kwargs);
    int wrong = -1;
    Object* result = definition.callable->call(objects.data(), &wrong);
    if (wrong >= 0) {
        const auto type = py::type::of(py::handle(reinterpret_cast<PyObject*>(objects[wrong])));
        refuse(definition, "argument '" + parameter_name(definition, wrong) + "' cannot be made of " +
                               py::cast<std::string>(py::repr(type)));
    }
    return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(result));
}

}  // namespace

void module_::define(const Definition& definition) {
    const auto function = [definition](const py::args& args, const py::kwargs& kwargs) {
        return call(definition, args, kwargs);
    };
    auto module = py::reinterpret_borrow<py::module_>(reinterpret_cast<PyObject*>(object_));
    module.def(definition.name, function, definition.documentation);
}

Object* create_module(const char* name, void (*fill)(module_&)) {
    try {
        auto* definition = new PyModuleDef{PyModuleDef_HEAD_INIT};
        definition->m_name = name;
        definition->m_size = -1;
        PyObject* created = PyModule_Create(definition);
        module_ module(reinterpret_cast<Object*>(created));
        fill(module);
        return reinterpret_cast<Object*>(created);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_ImportError, error.what());
        return nullptr;
    }
}

}  // namespace kbemu::python
