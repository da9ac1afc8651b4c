// Every operator's header includes this one and uses nothing of it, at a third of a second in all.
#pragma once
#if defined(KBEMU_TORCH_FULL) || defined(KBEMU_TORCH_CONTEXT)
#include_next <ATen/Context.h>
#endif
