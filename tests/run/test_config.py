"""A run's config is made plain, and no secret of it is recorded."""

import argparse
import dataclasses
import enum
import pathlib
import pickle

import numpy as np
import pytest
from omegaconf import OmegaConf

from trackio_like.run.config import Config, masked, plain_config
from trackio_like.run.secrets import REDACTED, is_secret_name, mask_argv, mask_text


class Mode(enum.Enum):
    FAST = "fast"


@dataclasses.dataclass
class Optimizer:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)


class Plain:
    def __init__(self):
        self.width = 3
        self._hidden = 4


def test_any_object_becomes_plain_values():
    config = {
        "mode": Mode.FAST,
        "opt": Optimizer(),
        "args": argparse.Namespace(seed=1),
        "path": pathlib.Path("a") / "b",
        "size": np.int64(3),
        "grid": np.array([1.0, 2.0]),
        "kind": float,
        "none": None,
        "obj": Plain(),
        3: {"x"},
    }
    assert plain_config(config) == {
        "mode": "fast",
        "opt": {"lr": 0.1, "betas": [0.9, 0.99]},
        "args": {"seed": 1},
        "path": str(pathlib.Path("a") / "b"),
        "size": 3,
        "grid": [1.0, 2.0],
        "kind": "builtins.float",
        "none": None,
        "obj": {"width": 3},
        "3": ["x"],
    }


def test_a_namespace_or_a_dataclass_is_a_config():
    assert plain_config(argparse.Namespace(lr=1)) == {"lr": 1}
    assert plain_config(Optimizer(lr=2.0))["lr"] == 2.0
    assert plain_config(None) == {}


def test_omegaconf_resolves_what_it_can_and_keeps_the_rest_as_written():
    config = OmegaConf.create({"a": {"b": "${oc.env:NOPE}", "l": [1, {"k": 2}]}, "x": "${x}", "m": "???", "ok": 1})
    plain = plain_config(config)
    assert plain["ok"] == 1
    assert plain["a"] == {"b": "${oc.env:NOPE}", "l": [1, {"k": 2}]}
    assert (plain["x"], plain["m"]) == ("${x}", "???")


def test_omegaconf_within_a_dict_is_made_plain_too():
    assert plain_config({"cfg": OmegaConf.create({"a": {"b": [1, 2]}})}) == {"cfg": {"a": {"b": [1, 2]}}}


def test_integers_beyond_64_bits_keep_their_digits():
    assert plain_config({"seed": 2**70, "ok": 2**63 - 1}) == {"seed": str(2**70), "ok": 2**63 - 1}


def test_long_values_are_kept_whole():
    labels = {str(i): f"class {i}" for i in range(5000)}
    assert plain_config({"id2label": labels, "argv": "x" * 100_000}) == {"id2label": labels, "argv": "x" * 100_000}


def test_an_object_that_cannot_be_read_does_not_keep_a_run_from_beginning():
    class Broken:
        def to_dict(self):
            raise RuntimeError

        def __str__(self):
            raise RuntimeError

    assert plain_config({"bad": Broken(), "ok": 1}) == {"bad": "<Broken>", "ok": 1}


def test_a_circular_config_ends():
    circle: dict = {}
    circle["again"] = circle
    assert isinstance(plain_config(circle)["again"], dict)


def test_secrets_are_masked_and_model_settings_are_not():
    config = {
        "wandb": {"key": "0123456789abcdef" * 2},
        "headers": {"Authorization": "Bearer abc"},
        "hf_token": "hf_" + "x" * 34,
        "uri": "https://u:pw@host/x?token=abc&page=2",
        "note": "use hf_" + "y" * 34 + " please",
        "max_tokens": 128,
        "use_cls_token": True,
        "pad_token": "<pad>",
        "tokenizer": "gpt2",
        "key": "C major",
        "metric_key": "loss",
        "monkey": 1,
    }
    assert masked(config) == {
        "wandb": {"key": REDACTED},
        "headers": {"Authorization": REDACTED},
        "hf_token": REDACTED,
        "uri": f"https://{REDACTED}@host/x?token={REDACTED}&page=2",
        "note": f"use {REDACTED} please",
        "max_tokens": 128,
        "use_cls_token": True,
        "pad_token": "<pad>",
        "tokenizer": "gpt2",
        "key": "C major",
        "metric_key": "loss",
        "monkey": 1,
    }


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "OPENAI_API_KEY", "hub_token", "token", "password", "db-password", "clientSecret"]
)
def test_a_secret_looking_name_is_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["num_tokens", "eos_token", "token_dim", "keyboard", "key_dim", "tokens", "primary_key"]
)
def test_a_harmless_name_is_left_alone(name):
    assert not is_secret_name(name)


def test_a_command_line_keeps_everything_but_secret_values():
    argv = ["train.py", "--lr", "1e-3", "--hub_token", "abc", "--api-key=xyz", "password=pw", "--max-tokens", "5", "x"]
    expected = f"train.py --lr 1e-3 --hub_token {REDACTED} --api-key={REDACTED} password={REDACTED} --max-tokens 5 x"
    assert mask_argv(argv) == expected.split()


def test_a_private_key_does_not_get_through_in_a_text():
    text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb"
    assert mask_text(text) == f"a\n{REDACTED}\nb"


def test_each_change_of_a_config_is_recorded():
    changes = []
    config = Config({"lr": 1}, changes.append)
    config["a"] = np.float32(0.5)
    config.b = 2
    config.update({"c": 3}, d=4)
    assert config.setdefault("lr", 9) == 1
    assert config.setdefault("e", 5) == 5
    assert changes == [{"a": 0.5}, {"b": 2}, {"c": 3, "d": 4}, {"e": 5}]
    assert (config.lr, config["d"], dict(config)["b"]) == (1, 4, 2)


def test_a_missing_config_value_says_what_there_is():
    with pytest.raises(AttributeError, match="no 'lrr'; it has lr"):
        _ = Config({"lr": 1}, print).lrr


def test_a_config_pickles_as_a_plain_dict():
    assert pickle.loads(pickle.dumps(Config({"lr": 1}, print))) == {"lr": 1}
