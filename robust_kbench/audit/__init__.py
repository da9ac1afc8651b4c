"""Judge only: is a task worth having? Its honest variants must pass, its wrong ones and every non-answer must fail."""
