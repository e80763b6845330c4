"""Models of `transformers` made from their configuration alone: on the meta device, without weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn


def load_meta_model(
    source: Any, *, trust_remote_code: bool = False, architecture: str | None = None
) -> tuple[nn.Module, Any]:
    """A model without weights, and its configuration: `build_model_graph` shows it as it would show the real one.

    Args:
        source: a folder with a `config.json`, a configuration as a dict or as an object of `transformers`, or the id of
            a model on the Hub, whose configuration (a few kilobytes) is fetched.
        trust_remote_code: run code that the folder or the Hub's repository brings. Only where you trust it.
        architecture: the class; by default the first of the configuration's `architectures`, else the bare model.

    Raises:
        ImportError: `transformers` is not installed.
        ValueError: the configuration is of no known model, or the class is not.
        OSError: there is no such folder, and the Hub cannot be reached or has no such model.
    """
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise ImportError(
            "To make a model from its configuration, install transformers: pip install transformers.", name=error.name
        ) from None
    config = _config(transformers, source, trust_remote_code=trust_remote_code)
    name = architecture or next(iter(getattr(config, "architectures", None) or ()), None)
    with _meta_device():
        return _model(transformers, config, name, is_asked=bool(architecture), trust=trust_remote_code), config


def _config(transformers: Any, source: Any, *, trust_remote_code: bool) -> Any:
    if isinstance(source, transformers.PretrainedConfig):
        return source
    if isinstance(source, Mapping):
        return _config_of_dict(transformers, source)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"A model cannot be made from a {type(source).__name__}; give a folder with a config.json, a "
            "configuration or the id of a model on the Hub."
        )
    place = os.fspath(source)
    if os.path.isdir(place) and not os.path.isfile(os.path.join(place, "config.json")):
        raise FileNotFoundError(f"The folder {place!r} has no config.json, which says what model it is of.")
    try:
        return transformers.AutoConfig.from_pretrained(place, trust_remote_code=trust_remote_code)
    except OSError as error:
        if os.path.isdir(place):
            raise OSError(f"The config.json in {place!r} cannot be read: {_first_line(error)}") from error
        raise OSError(
            f"There is no folder {place!r}, and the configuration could not be fetched from the Hub: "
            f"{_first_line(error)} Check the name and the connection, or give a folder with a config.json."
        ) from error
    except ValueError as error:
        needs_code = not trust_remote_code and "trust_remote_code" in str(error)
        hint = " If you trust the code that comes with it, pass trust_remote_code=True." if needs_code else ""
        raise ValueError(
            f"The configuration of {place!r} is of no model that is known: {_first_line(error)}{hint}"
        ) from error


def _config_of_dict(transformers: Any, source: Mapping[str, Any]) -> Any:
    kind = source.get("model_type")
    if not isinstance(kind, str):
        raise ValueError(  # noqa: TRY004 - a key that is missing is no matter of types
            "The configuration has no 'model_type', which says what kind of model it is, such as 'llama'."
        )
    try:
        return transformers.AutoConfig.for_model(**dict(source))
    except ValueError as error:
        raise ValueError(f"model_type={kind!r} is of no model that this version of transformers knows.") from error


def _model(transformers: Any, config: Any, name: str | None, *, is_asked: bool, trust: bool) -> nn.Module:
    kind = getattr(transformers, name, None) if name else None
    if kind is not None and isinstance(kind, type) and hasattr(kind, "config_class"):
        return kind(config)
    if is_asked:
        raise ValueError(f"architecture={name!r} is no class of transformers {transformers.__version__}.")
    auto = transformers.AutoModel
    for key, factory in getattr(config, "auto_map", {}).items() if trust else ():
        if name and str(factory).endswith(f".{name}"):
            auto = getattr(transformers, key, auto)
    return auto.from_config(config, trust_remote_code=trust)


@contextmanager
def _meta_device() -> Iterator[None]:
    """What is made inside has no memory, and nothing is drawn from the random generators."""
    with torch.device("meta"):
        yield


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") + "." if lines else f"{type(error).__name__}."


__all__ = ["load_meta_model"]
