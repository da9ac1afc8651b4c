"""From the raw samples of a record to a picture: SVG for a page, block characters for a terminal, files of both."""
