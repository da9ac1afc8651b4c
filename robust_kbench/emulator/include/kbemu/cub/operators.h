// CUB's operators and the pair of an index and a value.
#pragma once
#include "kbemu/runtime.h"

namespace cub {

struct NullType {};

struct Sum {
    template <class A, class B>
    auto operator()(const A& a, const B& b) const {
        return a + b;
    }
};

struct Max {
    template <class A, class B>
    auto operator()(const A& a, const B& b) const {
        return a < b ? b : a;
    }
};

struct Min {
    template <class A, class B>
    auto operator()(const A& a, const B& b) const {
        return b < a ? b : a;
    }
};

struct Equality {
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        return a == b;
    }
};

struct Inequality {
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        return !(a == b);
    }
};

template <class Key_, class Value_>
struct KeyValuePair {
    using Key = Key_;
    using Value = Value_;
    Key key;
    Value value;

    KeyValuePair() = default;
    KeyValuePair(const Key& key_, const Value& value_) : key(key_), value(value_) {}
    bool operator!=(const KeyValuePair& other) const { return value != other.value || key != other.key; }
};

// Among equal values the lowest index wins.
struct ArgMax {
    template <class Key, class Value>
    KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a, const KeyValuePair<Key, Value>& b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

struct ArgMin {
    template <class Key, class Value>
    KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a, const KeyValuePair<Key, Value>& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

}  // namespace cub
