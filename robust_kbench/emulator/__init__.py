"""CUDA C++ executed on a processor: source rewriting, headers, fibre runtime, memory and race checker."""
