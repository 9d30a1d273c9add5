"""PPO: networks, advantages, losses, schedules and the trainer."""
