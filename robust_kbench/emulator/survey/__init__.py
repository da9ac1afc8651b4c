"""How much of other people's CUDA the emulator takes: `python -m robust_kbench.emulator.survey FOLDER`."""
