// Every header of an operator includes this one and uses nothing of it, which takes seconds: see reduced_torch.h.
#pragma once
