/*
Includes a file of somebody else's as if it were a source: the compiler cannot make sense of it and quotes it in its
complaint, which the author gets to read.

catalogue: [O28]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include "targets.h"

const int stolen =
#include SECRET_FILE
    ;

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) { y[0] = stolen; }
