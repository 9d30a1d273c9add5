"""How good a team is: metrics, baselines, liars, contests."""
