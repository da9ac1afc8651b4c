"""Data models: task, submission, case, observation, finding, record. Plain data, strictly parsed."""
