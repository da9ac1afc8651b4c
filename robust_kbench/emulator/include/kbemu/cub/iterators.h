// CUB's input iterators: counted, constant and transformed items.
#pragma once
#include <cstddef>

namespace cub {

template <class T, class Offset = std::ptrdiff_t>
class CountingInputIterator {
public:
    explicit CountingInputIterator(T first) : first_(first) {}
    T operator*() const { return first_; }
    T operator[](Offset index) const { return first_ + static_cast<T>(index); }
    CountingInputIterator operator+(Offset offset) const { return CountingInputIterator((*this)[offset]); }

private:
    T first_;
};

template <class T, class Offset = std::ptrdiff_t>
class ConstantInputIterator {
public:
    explicit ConstantInputIterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    T operator[](Offset) const { return value_; }
    ConstantInputIterator operator+(Offset) const { return *this; }

private:
    T value_;
};

template <class T, class Conversion, class Input, class Offset = std::ptrdiff_t>
class TransformInputIterator {
public:
    TransformInputIterator(Input input, Conversion conversion) : input_(input), conversion_(conversion) {}
    T operator*() const { return conversion_(*input_); }
    T operator[](Offset index) const { return conversion_(input_[index]); }
    TransformInputIterator operator+(Offset offset) const { return {input_ + offset, conversion_}; }

private:
    Input input_;
    Conversion conversion_;
};

}  // namespace cub
