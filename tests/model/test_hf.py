"""Models from their configuration alone."""

import json
import subprocess
import sys

import huggingface_hub
import pytest
import torch
import transformers

from tests.model import zoo
from trackio_like.model.hf import load_meta_model

TINY = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 16, "intermediate_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 50,
}  # fmt: skip


def test_a_configuration_as_a_dict_gives_its_architecture_without_weights():
    model, config = load_meta_model(TINY)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert config.hidden_size == 16


def test_a_folder_and_an_object_give_the_same(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    from_folder, config = load_meta_model(tmp_path)
    from_object, _ = load_meta_model(config)
    assert repr(from_folder) == repr(from_object) == repr(load_meta_model(TINY)[0])


def test_another_architecture_and_none():
    assert type(load_meta_model(TINY, architecture="LlamaModel")[0]).__name__ == "LlamaModel"
    assert type(load_meta_model({**TINY, "architectures": None})[0]).__name__ == "LlamaModel"
    with pytest.raises(ValueError, match="architecture='NoModel' is no class"):
        load_meta_model(TINY, architecture="NoModel")


def test_what_is_no_configuration_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no 'model_type'"):
        load_meta_model({"hidden_size": 3})
    with pytest.raises(ValueError, match="model_type='nothing'"):
        load_meta_model({"model_type": "nothing"})
    with pytest.raises(TypeError, match="cannot be made from a int"):
        load_meta_model(3)
    with pytest.raises(OSError, match=r"has no config\.json"):
        load_meta_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OSError, match="cannot be read"):
        load_meta_model(tmp_path)


def test_without_a_connection_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match=r"There is no folder 'somebody/some-model'.*give a folder with a config\.json"):
        load_meta_model("somebody/some-model")


def test_code_of_others_runs_only_when_asked_for(tmp_path):
    config = {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Theirs", "AutoModel": "theirs.Net"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "theirs.py").write_text(
        "import pathlib, torch\n"
        "from transformers import PretrainedConfig, PreTrainedModel\n"
        f"pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        "class Theirs(PretrainedConfig):\n    model_type = 'theirs'\n"
        "class Net(PreTrainedModel):\n    config_class = Theirs\n"
        "    def __init__(self, config):\n        super().__init__(config)\n        self.fc = torch.nn.Linear(3, 4)\n"
    )
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        load_meta_model(tmp_path)
    assert not (tmp_path / "ran").exists()
    model, _ = load_meta_model(tmp_path, trust_remote_code=True)
    assert (tmp_path / "ran").exists()
    assert model.fc.weight.device.type == "meta"


def test_no_number_is_drawn():
    before = torch.get_rng_state()
    load_meta_model(TINY)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_transformers_it_says_what_to_install():
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from trackio_like.model.hf import load_meta_model\n"
        "try:\n    load_meta_model({})\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install transformers" in done.stdout


def test_every_configuration_of_the_zoo_is_known():
    for config in zoo.CONFIGS.values():
        assert hasattr(transformers, config["architectures"][0])
