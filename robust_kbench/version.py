"""Version alone, so that the build and the records can read it without importing the rest."""

__version__ = "0.2.0"
