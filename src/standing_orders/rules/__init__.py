"""What a defender must obey, and how well it does."""
