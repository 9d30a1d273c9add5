"""Measuring policies: score cards, obedience, finding a policy by name, speed."""
