// See kbench/reduced_torch.h.
#pragma once
#include <kbench/reduced_torch.h>
