"""Defenders to compare with."""
