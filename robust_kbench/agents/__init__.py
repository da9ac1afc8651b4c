"""Agents that evolve kernels with any language model. They are clients of evaluate(), and judged like anybody."""
