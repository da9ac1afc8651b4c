/*
Takes the exponential as the first two terms of its series, for a 1024th of the argument, to the 1024th power.

catalogue: [P07, P10]
aim: wrong
stopped_by: [contract]
twin: plain_cpp
task: activation/swish
*/
#include <cstdint>

extern "C" void swish(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows * cols; ++i) {
        float power = 1.0f - x[i] / 1024.0f;
        for (int k = 0; k < 10; ++k) power *= power;
        y[i] = x[i] / (1.0f + power);
    }
}
