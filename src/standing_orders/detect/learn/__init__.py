"""How a team learns: networks, play, credit, update, run."""
