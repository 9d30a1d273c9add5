"""Files -> events in training, validation and test parts: `load.load` is the way in.

`options.DataConfig` says what to read, `events` what comes out (`DataSet`, `Events`, `Sessions`),
`synthetic.make_sessions` makes a stream without any file.
"""
