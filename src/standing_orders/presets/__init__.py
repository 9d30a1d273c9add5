"""Settings by name, each a TOML file."""
