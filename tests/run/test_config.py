"""A run's config is made plain, and no secret of it is recorded."""

import argparse
import dataclasses
import enum
import pathlib
import pickle
import time

import numpy as np
import pytest
from omegaconf import OmegaConf

from trackio_like.run.config import MAX_CONFIG_VALUES, Config, masked, plain_config
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
    assert plain_config(circle) == {"again": "..."}


class Node:
    """One of some objects that all know each other, as trainers, models and callbacks do."""


def test_objects_that_all_know_each_other_take_no_time_and_little_room():
    nodes = [Node() for _ in range(12)]
    for node in nodes:
        vars(node).update({f"n{i}": other for i, other in enumerate(nodes)})
    started = time.perf_counter()
    plain = plain_config({"lr": 0.1, "trainer": nodes[0], "late": 1})
    assert time.perf_counter() - started < 5
    assert (plain["lr"], plain["late"]) == (0.1, 1)
    assert len(repr(plain)) < 10_000_000


@pytest.mark.parametrize("wrap", [lambda x: [x, x], lambda x: {"a": x, "b": x}, lambda x: (x, [x])])
def test_what_stands_in_a_config_many_times_over_takes_no_time(wrap):
    value = 1
    for _ in range(60):
        value = wrap(value)
    started = time.perf_counter()
    plain_config({"deep": value})
    assert time.perf_counter() - started < 5


def test_a_list_that_is_longer_than_a_config_holds_is_cut_and_says_so():
    plain = plain_config({"ids": range_list(MAX_CONFIG_VALUES * 2), "array": np.zeros(10**7), "lr": 0.1})
    assert plain["ids"][:3] == [0, 1, 2]
    assert plain["ids"][-1] == f"... ({MAX_CONFIG_VALUES * 2} in all)"
    assert plain["array"] == "<ndarray of shape (10000000,)>"
    assert plain["lr"] == 0.1


def range_list(length):
    return list(range(length))


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


RANDOM = "aB3dE5gH7jK9mN1pQ3sT5vW7"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("secrets", {"aws": "abc", "n": {"gcp": "def"}, "is_used": True}, {"aws": 0, "n": {"gcp": 0}, "is_used": True}),
        ("credentials", [{"user": "u"}], 0),
        ("passwords", ["a", "b"], 0),
        ("api_keys", ["a", "b"], [0, 0]),
        ("hf_tokens", {"me": "a"}, {"me": 0}),
        ("user_tokens", [3, 4], [3, 4]),
        ("num_user_tokens", 300, 300),
        ("sas_token", RANDOM, 0),
        ("azure_key", RANDOM, 0),
        ("stop_token", "reserved_special_token_250", "reserved_special_token_250"),
        ("image_key", "observation.images.top", "observation.images.top"),
        ("sort_key", "validation_loss_epoch_10", "validation_loss_epoch_10"),
        ("author", "me", "me"),
        ("token_type", "bpe", "bpe"),
        ("pad_token_id", 0, 0),
        ("nested", [{"a": [{"password": "y"}]}], [{"a": [{"password": 0}]}]),
    ],
)
def test_what_a_secret_holds_is_masked_down_to_its_leaves_and_nothing_else(name, value, expected):
    def marked(item):
        if isinstance(item, dict):
            return {key: marked(part) for key, part in item.items()}
        if isinstance(item, list):
            return [marked(part) for part in item]
        return 0 if item == REDACTED else item

    assert marked(masked({name: value})[name]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host=h password=hunter2 user=u", "host=h password=* user=u"),
        ("Authorization: Bearer abc.def", "Authorization: *"),
        ("curl -H 'authorization: Basic dTpwdw==' x", "curl -H 'authorization: *' x"),
        ("sent bearer a1b2c3d4e5 there", "sent bearer * there"),
        ("HF_TOKEN=abc123 python t.py", "HF_TOKEN=* python t.py"),
        ('{"api_key": "abc123", "n": 1}', '{"api_key": "*", "n": 1}'),
        ("AccountName=a;AccountKey=abcd==;", "AccountName=a;AccountKey=*;"),
        ("https://hooks.slack.com/services/T000/B000/XXXX", "https://hooks.slack.com/services/*"),
        ("https://discord.com/api/webhooks/1/abc-def", "https://discord.com/api/webhooks/*"),
        ("a basic understanding of bearers", "a basic understanding of bearers"),
        ("the password_policy: strict", "the password_policy: strict"),
        ("next token: 5, num_tokens=7, tokenizer=bpe", "next token: 5, num_tokens=7, tokenizer=bpe"),
    ],
)
def test_secrets_within_a_text_are_masked_and_the_rest_stays(text, expected):
    assert mask_text(text) == expected.replace("*", REDACTED)


@pytest.mark.parametrize("part", ["a.", "a", "eyJ", "password", "://", "-----BEGIN PRIVATE KEY-----", "?a_"])
def test_masking_a_long_text_takes_time_in_proportion(part):
    def seconds(length):
        text = (part * length)[:length]
        started = time.perf_counter()
        mask_text(text)
        return time.perf_counter() - started

    assert seconds(400_000) < 2


def test_a_command_line_hides_keys_of_sections_and_headers():
    argv = [
        "t.py",
        "+wandb.key=abc",
        "--header",
        "Authorization: Bearer x1",
        "--sas-token",
        RANDOM,
        "--sort-key",
        "loss",
    ]
    assert mask_argv(argv) == [
        "t.py", f"+wandb.key={REDACTED}", "--header", f"Authorization: {REDACTED}", "--sas-token", REDACTED,
        "--sort-key", "loss",
    ]  # fmt: skip


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
