"""The table of attacks."""

from tests.battery import damage, inputs, kills
from tests.battery.case import Attack

_SAME = "ends in the same bits"
_AROUND = 60.0  # seconds of a case that trains, on a busy machine

ATTACKS = (
    Attack("kill-folder", f"a run in miniature killed at any system call {_SAME}", 60, 1_000,
           kills.prepare(kills.toy), kills.kill),
    Attack("kill-train", f"`train` killed {_SAME}", 4, 400,
           kills.prepare(kills.train_work), kills.kill, _AROUND),
    Attack("kill-search", f"`search` killed {_SAME}", 2, 300,
           kills.prepare(kills.search_work), kills.kill, _AROUND),
    Attack("kill-detect", f"`detect train` killed {_SAME}", 2, 300,
           kills.prepare(kills.detect_work), kills.kill, _AROUND),
    Attack("full-disk", f"a disk that fills up is one message, and the run {_SAME}", 20, 500,
           kills.prepare(kills.toy), kills.fill_disk),
    Attack("race", f"two or three processes for one folder: one writes, and it {_SAME}", 10, 200,
           kills.prepare(kills.toy), kills.race),
    Attack("damage-train", "a damaged run of `train` read in every way", 20, 3_000,
           damage.prepare("train"), damage.damage, _AROUND),
    Attack("damage-search", "a damaged run of `search` read in every way", 6, 1_500,
           damage.prepare("search"), damage.damage, _AROUND),
    Attack("damage-detect", "a damaged run of `detect train` read in every way", 2, 500,
           damage.prepare("detect"), damage.damage, _AROUND),
    Attack("re-signed", "checkpoints with odd content, signed again", 10, 1_000,
           damage.prepare("train"), damage.resign, _AROUND),
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
