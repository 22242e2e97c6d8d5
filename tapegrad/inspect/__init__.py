"""Looking at what a tape has recorded."""
