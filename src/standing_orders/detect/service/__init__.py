"""A trained team in service: `judge.open_team` reads a run folder, `stream.score` follows a log.

`standard` is what a run saves beside its weights, `sessions` what is remembered of open sessions,
`rules` the margins and the shield, `why` which columns spoke for a verdict, `output` the lines that
are written.
"""
