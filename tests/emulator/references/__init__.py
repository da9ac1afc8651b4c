"""The PyTorch references of the suite, by topic. Importing a module registers its kernels."""
