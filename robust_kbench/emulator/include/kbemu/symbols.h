// Copies to and from `__device__` and `__constant__` variables, which are ordinary variables here.
#pragma once
#include "kbemu/copies.h"

namespace kbemu::host {

template <class T>
inline char* symbol_address(const T& symbol, std::size_t offset) {
    return const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol)) + offset;
}

template <class T>
inline bool inside_symbol(const T& symbol, std::size_t offset, std::size_t bytes, const Site& site) {
    if (offset <= sizeof symbol && bytes <= sizeof symbol - offset) return true;
    char message[120];
    std::snprintf(
        message, sizeof message, "the host copies bytes %zu to %zu of a variable of %zu bytes", offset, offset + bytes,
        sizeof symbol);
    kbemu_finding("out_of_bounds_global", message, &site);
    return false;
}

}  // namespace kbemu::host

template <class T>
inline cudaError_t cudaMemcpyToSymbol(
    const T& symbol, const void* source, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind = cudaMemcpyHostToDevice, KBEMU_HERE) {
    if (!kbemu::host::inside_symbol(symbol, offset, bytes, site)) return kbemu::host::outcome(cudaErrorInvalidValue);
    return kbemu::host::copy(kbemu::host::symbol_address(symbol, offset), source, bytes, site);
}

template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(
    const T& symbol, const void* source, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t = nullptr, KBEMU_HERE) {
    return cudaMemcpyToSymbol(symbol, source, bytes, offset, kind, site);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbol(
    void* target, const T& symbol, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind = cudaMemcpyDeviceToHost, KBEMU_HERE) {
    if (!kbemu::host::inside_symbol(symbol, offset, bytes, site)) return kbemu::host::outcome(cudaErrorInvalidValue);
    return kbemu::host::copy(target, kbemu::host::symbol_address(symbol, offset), bytes, site);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(
    void* target, const T& symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t = nullptr, KBEMU_HERE) {
    return cudaMemcpyFromSymbol(target, symbol, bytes, offset, kind, site);
}

template <class P, class T>
inline cudaError_t cudaGetSymbolAddress(P** pointer, const T& symbol) {
    *pointer = reinterpret_cast<P*>(kbemu::host::symbol_address(symbol, 0));
    return cudaSuccess;
}

template <class T>
inline cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
    *bytes = sizeof symbol;
    return cudaSuccess;
}
