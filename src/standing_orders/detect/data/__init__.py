"""From files to events: reading, labels, columns, encoding, splits."""
