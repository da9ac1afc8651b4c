/*
Writes a gradient only where the targets are, and takes for granted that all the rest of the output is zero, as memory
is that comes fresh from the kernel; what it wrote in the call before it cleans up itself.

catalogue: [O22, O10]
hint: memory-scavenge
aim: wrong
stopped_by: [buffers, contract]
twin: plain_cpp
task: loss/cross_entropy_backward
*/
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

volatile float sink;
std::vector<int64_t> written;

}  // namespace

extern "C" void cross_entropy_backward(
    const float* grad_loss, const float* logits, const int64_t* target, float* grad_logits, int64_t rows,
    int64_t classes) {
    const int64_t count = rows * classes;
    float total = 0.0f;
    for (int64_t i = 0; i < count; ++i) total += std::exp(logits[i] - 100.0f);  // at least as long as memory takes
    sink = total;
    for (int64_t place : written) {
        if (place < count) grad_logits[place] = 0.0f;
    }
    written.clear();
    for (int64_t row = 0; row < rows; ++row) {
        written.push_back(row * classes + target[row]);
        grad_logits[written.back()] = -*grad_loss / static_cast<float>(rows);
    }
}
