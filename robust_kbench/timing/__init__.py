"""Judge only: which calls are timed in which order, and what the samples say."""
