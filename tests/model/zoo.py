"""Networks whose parameters can be counted by hand, and configurations of published ones."""

from __future__ import annotations

import functools
import itertools

import torch
from torch import nn
from torch.nn import functional


def mlp(widths=(10, 32, 32, 4)):
    layers = []
    for a, b in itertools.pairwise(widths):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, 4 * width, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, depths, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for i, depth in enumerate(depths):
            width = 64 * 2**i
            blocks = []
            for j in range(depth):
                blocks.append(block(inputs, width, 2 if i and not j else 1))
                inputs = width * block.expansion
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, num_classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


resnet18 = functools.partial(ResNet, BasicBlock, (2, 2, 2, 2))
resnet50 = functools.partial(ResNet, Bottleneck, (3, 4, 6, 3))


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU()
    )


class UNet(nn.Module):
    """Four levels down and up, with as many skips."""

    def __init__(self, width=8):
        super().__init__()
        self.inc = double_conv(3, width)
        self.downs = nn.ModuleList([double_conv(width * 2**i, width * 2 ** (i + 1)) for i in range(4)])
        self.ups = nn.ModuleList(
            [nn.ConvTranspose2d(width * 2 ** (i + 1), width * 2**i, 2, 2) for i in reversed(range(4))]
        )
        self.decs = nn.ModuleList([double_conv(width * 2 ** (i + 1), width * 2**i) for i in reversed(range(4))])
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = [self.inc(x)]
        for down in self.downs:
            kept.append(down(functional.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for up, dec in zip(self.ups, self.decs, strict=True):
            x = dec(torch.cat([kept.pop(), up(x)], 1))
        return self.out(x)


class Expert(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class ListMoe(nn.Module):
    """A mixture of experts as people write it: a list of modules, and `k` on the block."""

    def __init__(self, width=16, inner=32, num=6, k=2):
        super().__init__()
        self.gate = nn.Linear(width, num, bias=False)
        self.experts = nn.ModuleList([Expert(width, inner) for _ in range(num)])
        self.k = k

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.k, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = (weights * (chosen == i)).sum(-1, keepdim=True)
            out = out + share * expert(x)
        return out


class MoeNet(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.moe = ListMoe(**options)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        return self.out(self.moe(self.inp(x)))


class FusedMoe(nn.Module):
    """Stacked weights without a `num_experts`."""

    def __init__(self, width=16, inner=32, num=4, shared=True):
        super().__init__()
        self.router = nn.Linear(width, num, bias=False)
        self.top_k = 2
        self.experts = StackedExperts(width, inner, num)
        self.shared_expert = Expert(width, inner) if shared else None

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(self.top_k, dim=-1)
        every = self.experts(x)
        picked = every.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, x.shape[-1]))
        y = (picked * weights.unsqueeze(-1)).sum(-2)
        return y if self.shared_expert is None else y + self.shared_expert(x)


class StackedExperts(nn.Module):
    def __init__(self, width, inner, num):
        super().__init__()
        self.w_up = nn.Parameter(torch.zeros(num, width, inner))
        self.w_down = nn.Parameter(torch.zeros(num, inner, width))

    def forward(self, x):
        inner = functional.silu(torch.einsum("bd,edi->bei", x, self.w_up))
        return torch.einsum("bei,eid->bed", inner, self.w_down)


class Residual(nn.Module):
    """A block that numbers itself."""

    def __init__(self, width=8, layer_idx=0, window=None):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, width)
        self.layer_idx = layer_idx
        self.window = window

    def forward(self, x):
        return x + self.fc(self.norm(x))


class Uneven(Residual):
    """Like a residual block, but one of them does more, though nothing that it shows says so."""

    def forward(self, x):
        y = super().forward(x)
        return y.sigmoid() if self.layer_idx == 2 else y


class Stack(nn.Module):
    """Blocks in a list, called one after the other, with something around each call."""

    def __init__(self, blocks, glue="none", width=8):
        super().__init__()
        self.inp = nn.Linear(width, width)
        self.blocks = nn.ModuleList(blocks)
        self.out = nn.Linear(width, 3)
        self.glue = glue

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            y = block(x)
            x = {"none": lambda: y, "relu": lambda: y.relu(), "add": lambda: x + y}[self.glue]()  # noqa: B023
        return self.out(x)


class Named(nn.Module):
    """Equal blocks as attributes with numbers in their names."""

    def __init__(self, num=4):
        super().__init__()
        for i in range(num):
            setattr(self, f"block{i + 1}", Residual())

    def forward(self, x):
        for block in self.children():
            x = block(x)
        return x


class Reused(nn.Module):
    """One layer under two names, called four times."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.again = self.first
        self.act = nn.ReLU()
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        for _ in range(2):
            x = self.act(self.again(self.act(self.first(x))))
        return self.out(x)


class Tied(nn.Module):
    def __init__(self, vocabulary=50, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.body(self.embed(ids)))


class Dynamic(nn.Module):
    """Its way depends on data."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8)

    def forward(self, x):
        return self.a(x) if x.sum().item() > 0 else self.b(x)


class Fails(nn.Module):
    """Breaks in the middle."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(9, 8)

    def forward(self, x):
        return self.second(self.first(x))


class Turns(nn.Module):
    """One block, run over and over."""

    def __init__(self, num=5, glue=True):
        super().__init__()
        self.inp = nn.Linear(8, 8)
        self.block = Residual()
        self.out = nn.Linear(8, 2)
        self.num = num
        self.glue = glue

    def forward(self, x):
        x = self.inp(x)
        for _ in range(self.num):
            x = self.block(x)
            if self.glue:
                x = x.tanh()
        return self.out(x)


LLAMA_7B = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}
DEEPSEEK_V3 = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}
CONFIGS = {
    "bert": {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
    "gpt2": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]},
    "llama-7b": LLAMA_7B,
    "gemma2": {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"]},
    "vit": {"model_type": "vit", "architectures": ["ViTForImageClassification"], "num_labels": 1000},
    "clip": {"model_type": "clip", "architectures": ["CLIPModel"]},
    "whisper": {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]},
    "t5-base": {
        "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 768, "d_ff": 3072,
        "num_layers": 12, "num_heads": 12,
    },
    "mixtral-8x7b": MIXTRAL,
    "qwen2-moe": {"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"]},
    "deepseek-v3": DEEPSEEK_V3,
    "mamba": {"model_type": "mamba", "architectures": ["MambaForCausalLM"], "num_hidden_layers": 4},
}  # fmt: skip
