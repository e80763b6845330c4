"""Models of transformers, made from their configuration alone, on the meta device."""

import torch


def made(class_name, config_name, **config):
    import transformers

    with torch.device("meta"):
        model = getattr(transformers, class_name)(getattr(transformers, config_name)(**config))
    return model.eval()


def tokens(batch=1, length=64):
    return {"input_ids": torch.zeros(batch, length, dtype=torch.long)}


def bert(**config):
    return made("BertModel", "BertConfig", **config)


def gpt2(**config):
    return made("GPT2LMHeadModel", "GPT2Config", **config)


def vit(**config):
    return made("ViTModel", "ViTConfig", **config)


def llama(**config):
    return made("LlamaForCausalLM", "LlamaConfig", **config)


def mixtral(**config):
    return made("MixtralForCausalLM", "MixtralConfig", **config)


def qwen3_moe(**config):
    return made("Qwen3MoeForCausalLM", "Qwen3MoeConfig", **{"num_hidden_layers": 48, **config})


def t5_base(**config):
    sizes = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
    return made("T5ForConditionalGeneration", "T5Config", **sizes, **config)


def mamba(**config):
    return made("MambaForCausalLM", "MambaConfig", **{"num_hidden_layers": 24, **config})


def deepseek_v3(**config):
    return made("DeepseekV3ForCausalLM", "DeepseekV3Config", **config)
