"""Where episodes come from: one interface, whatever plays them and wherever.

`choose.open_collector` gives a collector by name; `Collector.play` gives `rollout.Rollout`s. The
step loop is `loop.play_episodes` and nothing else; episode i of a `plan.Plan` depends on column i
of the plan alone, so that all collectors give the same arrays.
"""
