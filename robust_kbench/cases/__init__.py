"""Judge only: from a task and a seed to a suite of cases, and from a case to its inputs."""
