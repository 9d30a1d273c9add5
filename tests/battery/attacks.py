"""The table of attacks."""

from tests.battery import damage, inputs, kills
from tests.battery.case import Attack

_SAME = "ends in the same bits"
_AROUND = 60.0  # seconds of a case that trains, on a busy machine

ATTACKS = (
    Attack("kill-folder", f"a run in miniature killed at any system call {_SAME}", 30, 1_000,
           kills.prepare("toy"), kills.kill),
    Attack("kill-train", f"`train` killed {_SAME}", 4, 500,
           kills.prepare("train"), kills.kill, _AROUND),
    Attack("kill-search", f"`search` killed {_SAME}", 1, 150,
           kills.prepare("search"), kills.kill, _AROUND),
    Attack("kill-detect", f"`detect train` killed {_SAME}", 2, 250,
           kills.prepare("detect"), kills.kill, _AROUND),
    Attack("kill-score", "`detect score` killed judges every event once", 2, 100,
           kills.prepare("score"), kills.kill, _AROUND),
    Attack("full-disk", f"a disk that fills up is one message, and `train` {_SAME}", 3, 200,
           kills.prepare("train"), kills.fill_disk, _AROUND),
    Attack("limits", f"no more files, memory or descriptors: one message, and `train` {_SAME}", 3,
           200, kills.prepare("train"), kills.limit, _AROUND),
    Attack("race", f"two or three `train` for one folder: one writes, and it {_SAME}", 2, 100,
           kills.prepare("train"), kills.race, _AROUND),
    Attack("damage-train", "a damaged run of `train` read in every way", 20, 3_000,
           damage.prepare("train"), damage.damage, _AROUND),
    Attack("damage-search", "a damaged run of `search` read in every way", 4, 1_200,
           damage.prepare("search"), damage.damage, _AROUND),
    Attack("damage-detect", "a damaged run of `detect train` read in every way", 4, 800,
           damage.prepare("detect"), damage.damage, _AROUND),
    Attack("re-signed", "checkpoints with odd content, signed again: no figure that is not finite",
           10, 1_000, damage.prepare("train"), damage.resign, _AROUND),
    Attack("re-sealed", "a journal of `search` with odd values, sealed again: a message", 6, 500,
           damage.prepare("search"), damage.reseal, _AROUND),
    Attack("soak", "read and resumed again and again: no descriptor, thread or memory is lost", 1,
           20, damage.prepare("train"), damage.soak, _AROUND),
    Attack("settings", "mutated TOML files as --config", 60, 5_000,
           inputs.nothing, inputs.settings),
    Attack("words", "mutated command lines", 60, 5_000, inputs.nothing, inputs.words),
    Attack("data", "odd, mutated and damaged data files", 60, 5_000, inputs.nothing, inputs.data),
    Attack("formulas", "mutated formulas", 400, 50_000, inputs.nothing, inputs.formulas),
    Attack("names", "hostile names: no control character on the terminal", 30, 1_000,
           inputs.nothing, inputs.names),
    Attack("votes", "liars and bad networks: honest agents agree", 20, 2_000,
           inputs.nothing, inputs.votes),
)  # fmt: skip
