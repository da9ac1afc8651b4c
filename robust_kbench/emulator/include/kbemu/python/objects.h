// Python objects that C++ functions take and return as such: py::object, py::tuple, py::list.
#pragma once
#include <stdexcept>

#include "kbemu/python/values.h"

namespace kbemu::python {

void retain(Object* object);
void release(Object* object);

class object {
public:
    object() = default;
    // Takes over one reference.
    explicit object(Object* held) : held_(held) {}
    object(const object& other) : held_(other.held_) {
        if (held_) retain(held_);
    }
    object(object&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    object& operator=(object other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~object() {
        if (held_) release(held_);
    }

    Object* ptr() const { return held_; }
    bool is_none() const { return python::is_none(held_); }

    template <class T>
    T cast() const {
        Argument<std::decay_t<T>> argument;
        if (!argument.read(held_)) throw std::runtime_error("a Python object is not of the type that C++ asks for");
        return argument.value;
    }

protected:
    Object* held_ = nullptr;
};

class sequence : public object {
public:
    using object::object;

    std::size_t size() const { return length(held_); }
    object operator[](long index) const {
        Object* element = index >= 0 && index < length(held_) ? item(held_, index) : nullptr;
        if (!element) throw std::out_of_range("index out of range");
        retain(element);
        return object(element);
    }
};

class tuple : public sequence {
    using sequence::sequence;
};

class list : public sequence {
    using sequence::sequence;
};

template <class T>
struct Argument<T, std::enable_if_t<std::is_base_of_v<object, T>>> {
    T value;
    bool read(Object* source) {
        if (std::is_base_of_v<sequence, T> && length(source) < 0) return false;
        retain(source);
        value = T(source);
        return true;
    }
};

inline Object* wrap(const object& value) {
    retain(value.ptr());
    return value.ptr();
}

template <class... T>
inline tuple make_tuple(const T&... values) {
    return tuple(new_tuple(std::vector<Object*>{wrap(values)...}));
}

template <class T>
inline T cast(const object& source) {
    return source.cast<T>();
}

}  // namespace kbemu::python
