"""The judge's side of the trust boundary: shared memory, the warm pool, and the handle of one worker process."""
