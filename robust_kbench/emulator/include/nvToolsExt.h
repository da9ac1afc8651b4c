// The older place of NVIDIA's tools extension.
#pragma once
#include "nvtx3/nvToolsExt.h"
