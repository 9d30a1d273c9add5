"""The command line: one module per command, tables and live views beside them."""
