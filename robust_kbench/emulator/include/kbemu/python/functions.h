// A C++ function as Python calls it: with an array of objects, one for each parameter.
#pragma once
#include "kbemu/python/objects.h"

namespace kbemu::python {

// The function's index of a parameter that could not be converted is left in *wrong; the result is then null.
struct Callable {
    virtual ~Callable() = default;
    virtual Object* call(Object* const* arguments, int* wrong) const = 0;
    virtual int parameters() const = 0;
};

template <class Function, class R, class... A>
struct TypedCallable final : Callable {
    Function function;

    explicit TypedCallable(Function function_) : function(std::move(function_)) {}

    int parameters() const override { return sizeof...(A); }

    Object* call(Object* const* objects, int* wrong) const override {
        return call(objects, wrong, std::index_sequence_for<A...>());
    }

private:
    template <std::size_t... I>
    Object* call(Object* const* objects, int* wrong, std::index_sequence<I...>) const {
        std::tuple<Argument<std::decay_t<A>>...> arguments;
        const bool readable = ((*wrong = I, std::get<I>(arguments).read(objects[I])) && ...);
        if (!readable) return nullptr;
        *wrong = -1;
        if constexpr (std::is_void_v<R>) {
            function(static_cast<A>(std::get<I>(arguments).value)...);
            return none();
        } else {
            return wrap(function(static_cast<A>(std::get<I>(arguments).value)...));
        }
    }
};

template <class R, class... A>
inline Callable* make_callable(R (*function)(A...)) {
    return new TypedCallable<R (*)(A...), R, A...>(function);
}

template <class Lambda, class R, class... A>
inline Callable* make_callable(const Lambda& lambda, R (Lambda::*)(A...) const) {
    return new TypedCallable<Lambda, R, A...>(lambda);
}

template <class Lambda>
inline auto make_callable(const Lambda& lambda) -> decltype(make_callable(lambda, &Lambda::operator())) {
    return make_callable(lambda, &Lambda::operator());
}

}  // namespace kbemu::python
