"""Leaderboard as a pure function of records: ranked rows, then CSV and Markdown, always with the same bytes."""
