"""Other suites' formats to tasks and submissions. What is imported is hostile: see importers.sandbox."""
