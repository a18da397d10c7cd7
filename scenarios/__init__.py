"""Agents that look like real ones, each with what is wrong with it, and what is right."""
