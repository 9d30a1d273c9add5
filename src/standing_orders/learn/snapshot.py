"""Networks and optimisers as plain arrays, for checkpoints; and warm starts from other layouts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from standing_orders.errors import CheckpointError
from standing_orders.learn.inputs import InputLayout
from standing_orders.learn.networks import ActorCritic

Arrays = dict[str, NDArray[Any]]
_NETWORK, _OPTIMISER = "network.", "optimiser."
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of Adam
_INPUT_LAYERS = ("actor.0.weight", "critic.0.weight")


def network_arrays(network: nn.Module) -> Arrays:
    """Weights by name."""
    state = network.state_dict()
    return {f"{_NETWORK}{name}": value.numpy().copy() for name, value in state.items()}


def optimiser_arrays(optimiser: torch.optim.Optimizer) -> Arrays:
    """Adam's moments and step counts, by the number of the parameter."""
    arrays = {}
    for index, moments in optimiser.state_dict()["state"].items():
        for name, value in moments.items():
            arrays[f"{_OPTIMISER}{index}.{name}"] = np.atleast_1d(value.numpy().copy())
    return arrays


def restore_network(network: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put weights back.

    Raises:
        CheckpointError: names or shapes are not those of the network, or a weight is not finite.
    """
    weights = {
        name.removeprefix(_NETWORK): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(_NETWORK)
    }
    wanted = network.state_dict()
    for name, value in weights.items():
        if name in wanted and value.dtype != wanted[name].dtype:
            raise CheckpointError(f"weight {name} of type {value.dtype}: must be "
                                  f"{wanted[name].dtype}")  # fmt: skip
        if not torch.isfinite(value).all():
            raise CheckpointError(f"weight {name} is not finite")
    try:
        network.load_state_dict(weights)
    except RuntimeError as err:
        raise CheckpointError(f"weights do not fit the network: {err}") from err


def restore_optimiser(optimiser: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put Adam's moments back.

    Raises:
        CheckpointError: they are not moments of the optimiser's own parameters.
    """
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in arrays.items():
        if key.startswith(_OPTIMISER):
            index, name = key.removeprefix(_OPTIMISER).split(".")
            moment = torch.from_numpy(np.array(value))
            state.setdefault(int(index), {})[name] = moment[0] if name == "step" else moment
    _check_moments(optimiser, state)
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def _check_moments(
    optimiser: torch.optim.Optimizer, state: Mapping[int, Mapping[str, torch.Tensor]]
) -> None:
    parameters = [weight for group in optimiser.param_groups for weight in group["params"]]
    for index, moments in state.items():
        if set(moments) != set(_MOMENTS):
            raise CheckpointError(f"optimiser: parameter {index} has {sorted(moments)}: must have "
                                  f"{', '.join(_MOMENTS)}")  # fmt: skip
        for name, moment in moments.items():
            is_fitting = (
                index < len(parameters)
                and moment.dtype == parameters[index].dtype
                and bool(torch.isfinite(moment).all())
                and moment.shape == (() if name == "step" else parameters[index].shape)
                and (name == "exp_avg" or bool((moment >= 0).all()))
            )
            if not is_fitting:
                raise CheckpointError(f"optimiser: {name} of parameter {index} does not fit it")


def warm_start(
    network: ActorCritic, arrays: Mapping[str, NDArray[Any]], layout: InputLayout
) -> None:
    """Begin with the weights of another network, which may have fewer kinds of input.

    Inputs that the other network did not have begin with weight zero, so that the network acts
    exactly as the other one did.

    Args:
        network: the one to begin.
        arrays: weights of the other.
        layout: inputs of the other.

    Raises:
        CheckpointError: the other has inputs that this one lacks, or other hidden layers.
    """
    ours, theirs = network.layout.blocks, layout.blocks
    missing = sorted(set(theirs) - set(ours))
    if missing:
        raise CheckpointError(f"cannot start from it: it has inputs this one lacks: {missing}")
    adapted = dict(arrays)
    for name in _INPUT_LAYERS:
        given = arrays.get(_NETWORK + name)
        if given is None or given.ndim != 2 or given.shape[1] != layout.size:
            raise CheckpointError(f"cannot start from it: {name} does not have its inputs")
        weights = np.zeros((len(given), network.layout.size), dtype=np.float32)
        for block, place in theirs.items():
            weights[:, ours[block]] = given[:, place]
        adapted[_NETWORK + name] = weights
    restore_network(network, adapted)
