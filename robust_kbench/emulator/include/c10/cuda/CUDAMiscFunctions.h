#pragma once

namespace c10::cuda {

inline const char* get_cuda_check_suffix() noexcept {
    return "";
}

}  // namespace c10::cuda
