"""A thread launches the work, and is joined before the return.

device: cuda
looks_like: [T03, T04]
"""

import threading

import torch


def rmsnorm(x, weight):
    answers, stream = [], torch.cuda.current_stream()

    def work():
        with torch.cuda.stream(stream):
            answers.append(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return answers[0]
