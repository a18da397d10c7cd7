"""Where checkpoints live: in memory, in files, in SQLite."""
