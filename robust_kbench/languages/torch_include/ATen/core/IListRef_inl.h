// Lists of tensors that are made and passed on, as the argument of at::cat is. How their elements are reached takes all
// that c10::List needs, seconds to compile; an extension that does so is compiled with torch's own headers.
#pragma once
#include <ATen/core/Tensor.h>

namespace c10::detail {

// A list of the interpreter's. A pointer to one is part of the type, and always null here.
struct BoxedTensors {
    struct const_iterator {};
};

template <>
class IListRefTagImpl<IListRefTag::Unboxed, at::Tensor> {
public:
    using elem_type = at::Tensor;
    using list_type = ArrayRef<at::Tensor>;
};

template <>
class IListRefTagImpl<IListRefTag::Boxed, at::Tensor> {
public:
    using elem_type = at::Tensor;
    using list_type = BoxedTensors;
};

template <>
class IListRefTagImpl<IListRefTag::Materialized, at::Tensor> {
public:
    using elem_type = MaterializedIListRefElem<at::Tensor>;
    using list_type = MaterializedIListRef<at::Tensor>;
};

}  // namespace c10::detail

namespace at {

using ITensorListRef = c10::IListRef<at::Tensor>;

}  // namespace at
