"""Survey of the third-party CUDA code that the emulator takes: `python -m robust_kbench.emulator.survey FOLDER`."""
