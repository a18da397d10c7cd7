"""The commands, a few lines each over the function that does their work."""
