// The device that is emulated: one of compute capability 8.0, with the sizes of an A100.
#pragma once
#include <cstddef>

namespace kbemu::device {

constexpr int kMajor = 8;
constexpr int kMinor = 0;
constexpr int kMultiprocessors = 108;
constexpr int kThreadsPerBlock = 1024;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kRegisters = 65536;
constexpr std::size_t kSharedPerBlock = 48 << 10;
constexpr std::size_t kSharedPerBlockOptIn = 163 << 10;
constexpr std::size_t kSharedOfAnyDevice = 227 << 10;
constexpr std::size_t kSharedPerMultiprocessor = 164 << 10;
constexpr std::size_t kSharedReservedPerBlock = 1 << 10;
constexpr std::size_t kConstantMemory = 64 << 10;
constexpr std::size_t kL2Cache = 40 << 20;
constexpr int kClockKiloHertz = 1410000;
constexpr int kMemoryClockKiloHertz = 1215000;
constexpr int kMemoryBusBits = 5120;

}  // namespace kbemu::device
