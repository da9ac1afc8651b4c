"""Pictures of a record's raw samples: SVG for a page, block characters for a terminal, files of both."""
