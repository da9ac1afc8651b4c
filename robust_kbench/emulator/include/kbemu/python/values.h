// Conversions between Python's objects and C++ values. Those of single values are in the torch library
// (torch_library/values.cpp), so that kernels read neither Python's nor pybind11's headers.
#pragma once
#include <ATen/core/Tensor.h>

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace kbemu::python {

struct Object;  // a PyObject

// False when the object is of another type.
bool load(Object* object, at::Tensor& value);
bool load(Object* object, bool& value);
bool load(Object* object, long long& value);
bool load(Object* object, double& value);
bool load(Object* object, std::string& value);
bool load(Object* object, c10::Scalar& value);
bool load(Object* object, c10::ScalarType& value);
bool load(Object* object, c10::Device& value);

// Each returns a new reference.
Object* wrap(const at::Tensor& value);
Object* wrap(bool value);
Object* wrap(long long value);
Object* wrap(double value);
Object* wrap(const std::string& value);
Object* wrap(c10::ScalarType value);
Object* none();

bool is_none(Object* object);
// The number of elements of a list or tuple, or -1.
long length(Object* object);
// A borrowed reference.
Object* item(Object* object, long index);
// Steals the references in `items`.
Object* new_list(const std::vector<Object*>& items);
Object* new_tuple(const std::vector<Object*>& items);

// --- what a function's parameter of type T is read into; `value` is passed on ---------------------------------------
template <class T, class = void>
struct Argument {
    T value{};
    bool read(Object* object) { return load(object, value); }
};

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
struct Argument<T, std::enable_if_t<is_integer<T>>> {
    T value = 0;
    bool read(Object* object) {
        long long wide;
        if (!load(object, wide)) return false;
        value = static_cast<T>(wide);
        return static_cast<long long>(value) == wide;
    }
};

template <>
struct Argument<float> {
    float value = 0;
    bool read(Object* object) {
        double wide;
        if (!load(object, wide)) return false;
        value = static_cast<float>(wide);
        return true;
    }
};

template <>
struct Argument<c10::Device> {
    c10::Device value = c10::kCPU;
    bool read(Object* object) { return load(object, value); }
};

template <class T>
struct Argument<std::optional<T>> {
    std::optional<T> value;
    bool read(Object* object) {
        if (is_none(object)) return true;
        Argument<T> present;
        if (!present.read(object)) return false;
        value = std::move(present.value);
        return true;
    }
};

template <class T>
struct Argument<std::vector<T>> {
    std::vector<T> value;
    bool read(Object* object) {
        const long size = length(object);
        for (long i = 0; i < size; ++i) {
            Argument<T> element;
            if (!element.read(item(object, i))) return false;
            value.push_back(std::move(element.value));
        }
        return size >= 0;
    }
};

template <class T>
struct Argument<c10::ArrayRef<T>> {
    Argument<std::vector<T>> storage;
    c10::ArrayRef<T> value;
    bool read(Object* object) {
        const bool read = storage.read(object);
        value = storage.value;
        return read;
    }
};

template <>
struct Argument<const char*> {
    std::string storage;
    const char* value = "";
    bool read(Object* object) {
        const bool read = load(object, storage);
        value = storage.c_str();
        return read;
    }
};

template <class... T>
struct Argument<std::tuple<T...>> {
    std::tuple<T...> value;
    bool read(Object* object) {
        return length(object) == sizeof...(T) && read(object, std::index_sequence_for<T...>());
    }

private:
    template <std::size_t... I>
    bool read(Object* object, std::index_sequence<I...>) {
        return (element(std::get<I>(value), item(object, I)) && ...);
    }
    template <class E>
    static bool element(E& target, Object* object) {
        Argument<E> argument;
        if (!argument.read(object)) return false;
        target = std::move(argument.value);
        return true;
    }
};

// --- what a function returns -----------------------------------------------------------------------------------------
template <class T>
inline std::enable_if_t<is_integer<T>, Object*> wrap(T value) {
    return wrap(static_cast<long long>(value));
}

inline Object* wrap(float value) {
    return wrap(static_cast<double>(value));
}

inline Object* wrap(const char* value) {
    return wrap(std::string(value));
}

inline Object* wrap(std::nullopt_t) {
    return none();
}

inline Object* wrap(Object* value) {
    return value;
}

template <class T>
inline Object* wrap(const std::vector<T>& values);
template <class... T>
inline Object* wrap(const std::tuple<T...>& values);
template <class A, class B>
inline Object* wrap(const std::pair<A, B>& values);

template <class T>
inline Object* wrap(const std::optional<T>& value) {
    return value ? wrap(*value) : none();
}

template <class T>
inline Object* wrap(const std::vector<T>& values) {
    std::vector<Object*> items;
    for (const T& value : values) items.push_back(wrap(value));
    return new_list(items);
}

template <class... T>
inline Object* wrap(const std::tuple<T...>& values) {
    return std::apply([](const T&... value) { return new_tuple({wrap(value)...}); }, values);
}

template <class A, class B>
inline Object* wrap(const std::pair<A, B>& values) {
    return new_tuple({wrap(values.first), wrap(values.second)});
}

}  // namespace kbemu::python
