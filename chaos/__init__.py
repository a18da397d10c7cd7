"""The harness: crash points, real kills, checks and verdicts."""
