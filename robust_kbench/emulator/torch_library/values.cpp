// The conversions that kbemu/python/values.h declares, by way of pybind11's and torch's own.
#include <torch/csrc/utils/pybind.h>

#include "kbemu/python/objects.h"

namespace kbemu::python {
namespace {

py::handle handle(Object* object) {
    return reinterpret_cast<PyObject*>(object);
}

Object* give(py::object object) {
    return reinterpret_cast<Object*>(object.release().ptr());
}

template <class T>
bool load_by_pybind(Object* object, T& value) {
    py::detail::make_caster<T> caster;
    if (!caster.load(handle(object), true)) return false;
    value = py::detail::cast_op<T>(caster);
    return true;
}

}  // namespace

bool load(Object* object, at::Tensor& value) {
    if (is_none(object)) return false;
    return load_by_pybind(object, value);
}
bool load(Object* object, bool& value) {
    return load_by_pybind(object, value);
}
bool load(Object* object, long long& value) {
    return load_by_pybind(object, value);
}
bool load(Object* object, double& value) {
    return load_by_pybind(object, value);
}
bool load(Object* object, std::string& value) {
    return load_by_pybind(object, value);
}
bool load(Object* object, c10::Scalar& value) {
    return load_by_pybind(object, value);
}
bool load(Object* object, c10::ScalarType& value) {
    return load_by_pybind(object, value);
}

// Tensors of the emulated device are in the processor's memory.
bool load(Object* object, c10::Device& value) {
    if (!load_by_pybind(object, value)) return false;
    if (value.is_cuda()) value = c10::Device(c10::kCPU);
    return true;
}

Object* wrap(const at::Tensor& value) {
    return give(py::cast(value));
}
Object* wrap(bool value) {
    return give(py::bool_(value));
}
Object* wrap(long long value) {
    return give(py::int_(value));
}
Object* wrap(double value) {
    return give(py::float_(value));
}
Object* wrap(const std::string& value) {
    return give(py::str(value));
}
Object* wrap(c10::ScalarType value) {
    return give(py::cast(value));
}
Object* none() {
    return give(py::none());
}

void retain(Object* object) {
    handle(object).inc_ref();
}

void release(Object* object) {
    handle(object).dec_ref();
}

bool is_none(Object* object) {
    return handle(object).is_none();
}

long length(Object* object) {
    PyObject* sequence = handle(object).ptr();
    if (!PyList_Check(sequence) && !PyTuple_Check(sequence)) return -1;
    return PySequence_Size(sequence);
}

Object* item(Object* object, long index) {
    PyObject* sequence = handle(object).ptr();
    PyObject* found = PyList_Check(sequence) ? PyList_GetItem(sequence, index) : PyTuple_GetItem(sequence, index);
    return reinterpret_cast<Object*>(found);
}

Object* new_list(const std::vector<Object*>& items) {
    py::list list;
    for (Object* object : items) list.append(py::reinterpret_steal<py::object>(handle(object)));
    return give(list);
}

Object* new_tuple(const std::vector<Object*>& items) {
    return give(py::tuple(py::reinterpret_steal<py::list>(handle(new_list(items)))));
}

}  // namespace kbemu::python
