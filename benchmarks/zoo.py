"""Make the zoo again: train, strip to the weights, measure, and write the cards into the package.

Every run stays under runs/zoo/NAME: what is killed goes on, and what is finished is not trained
again. Remove a folder there to make a policy anew.

Run: python benchmarks/zoo.py, or make zoo
"""

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from results import launch
from standing_orders import evaluate, evaluate_team, load_policy
from standing_orders.cli.app import main as standing_orders
from standing_orders.errors import StandingOrdersError
from standing_orders.evaluate.obedience import measure_obedience, summarise
from standing_orders.runs.checkpoint import CHECKPOINTS
from standing_orders.runs.folder import RunFolder, is_run
from standing_orders.runs.lock import LOCK_NAME
from standing_orders.runs.loop import latest_of, save_state
from standing_orders.runs.shipped import CARD_NAME, ZOO

EPISODES, ORDER_EPISODES = 1_000, 200
SEED = 1_000  # of the measurement; no policy is trained with it
MAX_BYTES = 3_000_000


@dataclass(frozen=True)
class Recipe:
    """How one policy is made."""

    what: str
    command: str  # without the run folder
    red: str = "b_line"  # that a defender is scored against


_ANY = "train --preset fast --seed 11"
RECIPES = {
    "any-b_line": Recipe("any order, B_line", f"{_ANY} --red b_line"),
    "any-meander": Recipe("any order, Meander", f"{_ANY} --red meander", "meander"),
    "any-b_line-late": Recipe(
        "any order, B_line 20 steps ahead", f"{_ANY} --red b_line --head-start 20"
    ),
    "any-meander-late": Recipe(
        "any order, Meander 30 steps ahead, twice as fast",
        f"{_ANY} --red meander --head-start 30 --red-tempo 2 --episodes 80000",
        "meander",
    ),
    "leaderboard": Recipe(
        "no order, all red agents, the leaderboard's rules",
        "train --preset leaderboard --seed 11",
        "all",
    ),
    "team": Recipe("detection team, synthetic stream", "detect train --seed 0"),
}


@dataclass(frozen=True)
class Task:
    """What to make."""

    names: tyro.conf.Positional[tuple[str, ...]] = tuple(RECIPES)
    """Policies to make."""
    runs: Path = Path("runs/zoo")
    """Where they are trained."""
    zoo: Path = ZOO
    """Where they go."""
    episodes: int = EPISODES
    """Episodes of a score."""
    order_episodes: int = ORDER_EPISODES
    """Episodes of each order."""
    every: int = 1
    """Tell a policy for any order only every so many-th of the 120."""
    trained_only: bool = False
    """Measure what is trained already, and train nothing."""


def main(task: Task) -> None:
    """Make every policy that was asked for."""
    for name in task.names:
        run, recipe = task.runs / name, RECIPES[name]
        if not _train(run, recipe, is_finished_wanted=task.trained_only):
            print(f"{name}: not trained")
            continue
        shelve(run, task.zoo / name)
        card = make_card(task.zoo / name, recipe, task)
        (task.zoo / name / CARD_NAME).write_text(json.dumps(card, indent=1) + "\n")
        print(f"{name}: {card['figures']}", flush=True)
    size = sum(path.stat().st_size for path in task.zoo.rglob("*") if path.is_file())
    print(f"{size:,} bytes in all, of {MAX_BYTES:,} at most")
    if size > MAX_BYTES:
        sys.exit(1)


def _train(run: Path, recipe: Recipe, *, is_finished_wanted: bool) -> bool:
    """Train, or go on; whether the run has ended."""
    words = shlex.split(recipe.command)
    if is_finished_wanted:
        return is_run(run) and _has_ended(run)
    if is_run(run) and _has_ended(run):
        return True
    if is_run(run):
        words = [*words[: 2 if words[0] == "detect" else 1], "--resume"]
    if standing_orders([*words, "--run", str(run)]) != 0:
        sys.exit(f"{run}: training failed")
    return True


def _has_ended(run: Path) -> bool:
    try:
        folder, checkpoint = latest_of(run, RunFolder.open(run).kind)
    except StandingOrdersError:
        return False
    done = checkpoint.data.get("progress", checkpoint.data)
    return done["stopped"] is not None and folder.seal is not None


def shelve(run: Path, place: Path) -> None:
    """Keep of a run what its policy needs: config, weights, counters and the last record."""
    folder, checkpoint = latest_of(run, RunFolder.open(run).kind)
    tensors = checkpoint.tensors.items()
    weights = {name: value for name, value in tensors if name.startswith("network.")}
    shutil.rmtree(place, ignore_errors=True)
    shelved = RunFolder.create(place, folder.config, folder.kind)
    with shelved.journal() as journal:
        journal.append(folder.journal().read()[-1])
        save_state(shelved, journal, checkpoint.index, weights, checkpoint.data)
    (place / LOCK_NAME).unlink()
    assert (place / CHECKPOINTS).is_dir()


def make_card(place: Path, recipe: Recipe, task: Task) -> dict[str, Any]:
    """Measure a policy, and say how it was made."""
    is_team = recipe.command.startswith("detect")
    figures = _team_figures(place) if is_team else _defender_figures(place, recipe, task)
    measured = (
        f"python benchmarks/zoo.py {place.name} --trained-only --episodes {task.episodes} "
        f"--every {task.every}"
    )
    if is_team:
        measured = f"standing-orders detect evaluate zoo/{place.name}"
    config = RunFolder.open(place).config
    return {
        "what": recipe.what,
        "kind": "team" if is_team else "defender",
        "made_by": f"standing-orders {recipe.command} --run {task.runs / place.name}",
        "measured_by": measured,
        "seed": config["seed"],
        "red": None if is_team else recipe.red,
        "figures": figures,
    }


def _defender_figures(place: Path, recipe: Recipe, task: Task) -> dict[str, Any]:
    policy: Any = load_policy(place)
    red: Any = recipe.red
    card = evaluate(policy, red=red, episodes=task.episodes, seed=SEED, order_episodes=0)
    score = card.score("total", None) if red == "all" else card.score(red, 100)
    figures: dict[str, Any] = {
        "name": "total of all horizons" if red == "all" else "return",
        "value": round(score.mean, 3),
        "std_error": round(score.std_error, 3),
        "n": task.episodes,
    }
    orders = list(policy.orders)[:: task.every]
    if orders:
        obeyed = measure_obedience(
            policy, policy.home(), orders, num_episodes=task.order_episodes, seed=SEED
        )
        found = {name: round(value, 4) for name, value in summarise(obeyed).items()}
        figures["orders"] = found | {"n": task.order_episodes}
    return figures


def _team_figures(place: Path) -> dict[str, Any]:
    found = evaluate_team(place).figures
    interval = found["interval"]
    error = (interval["high"] - interval["low"]) / (2 * 1.96)
    return {"name": "mean cost", "value": round(found["mean_cost"], 3),
            "std_error": round(error, 3), "n": found["num_sessions"]}  # fmt: skip


if __name__ == "__main__":
    launch(main, Task, __doc__)
