"""Pages, seeds and links summed up for reports."""
