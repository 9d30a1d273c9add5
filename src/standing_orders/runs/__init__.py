"""Run folders: config, journal, checkpoints and mirrors; a killed run resumes bit for bit."""
