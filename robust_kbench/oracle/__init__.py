"""Judge only: what the right answer is, and whether an answer is right."""
