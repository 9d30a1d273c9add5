"""The detection team: data, agents with their own views, temporal rules, votes."""
