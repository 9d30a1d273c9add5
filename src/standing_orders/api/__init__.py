"""The Python interface, importable from the top: `from standing_orders import train, preset, ...`.

| module | offers |
|---|---|
| settings | `preset` |
| training | `train`, `resume`, `Run`, `load_run` |
| searching | `search`, `resume_search`, `SearchResult` |
| policies | `load_policy`, `evaluate` |
| teams | `evaluate_team` |

The commands are written on the same functions. Heavy imports wait until a function needs them.
"""
