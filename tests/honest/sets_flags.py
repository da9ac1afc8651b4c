"""Sets flags of PyTorch for the whole process, when it is imported and in every call; its answer is the same without.

looks_like: [P02, H14]
"""

import torch


def set_flags():
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True


set_flags()


def rmsnorm(x, weight):
    set_flags()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
