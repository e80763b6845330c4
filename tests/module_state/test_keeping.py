"""A lent module comes back bit for bit: weights, buffers, flags, attributes, gradients, hooks, random numbers."""

# mypy: disable-error-code="misc"
# ruff: noqa: ARG002, ARG005, NPY002
from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
import torch
from torch import nn

from tests.module_state import fingerprint
from trackio_like.module_state.attributes import same_bits
from trackio_like.module_state.keeping import NotRestoredError, bits_sum, checksum, kept


class Busy(nn.Module):
    """Whose attributes a forward pass could change in every way that people think of."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("passing", torch.zeros(2), persistent=False)
        self.calls = 0
        self.name = "busy"
        self.seen = [torch.zeros(2), [1, 2]]
        self.by_key = {"a": 1, "deep": {"list": []}}
        self.counts = Counter(a=3)
        self.grouped = defaultdict(list)
        self.lru = OrderedDict(a=1, b=2, c=3)
        self.window = deque([1, 2, 3], maxlen=3)
        self.names = {"a"}
        self.pair = ([1], torch.ones(2))
        self.array = np.arange(4.0)
        self.objects = np.array([1, "a"], dtype=object)
        self.cache = torch.zeros(2)
        self.growing = torch.zeros(1)
        self.nan = torch.tensor([float("nan"), -0.0])
        self.rng = torch.Generator().manual_seed(1)
        self.numpy_rng = np.random.default_rng(1)
        self.python_rng = random.Random(1)
        self.me = [self]  # a loop

    def change(self):
        self.calls += 1
        self.name += "!"
        self.seen[0].add_(1)
        self.seen[1].append(3)
        self.seen.append("new")
        self.by_key["b"] = 2
        self.by_key["deep"]["list"].append(1)
        del self.by_key["a"]
        self.counts["a"] += 1
        self.counts["b"] += 1
        self.grouped["x"].append(1)
        self.lru.move_to_end("a")
        self.window.append(4)
        self.names.add("b")
        self.pair[0].append(2)
        self.pair[1].mul_(2)
        self.array[0] = np.nan
        self.objects[1] = "b"
        self.cache = torch.ones(3)
        self.growing.data = torch.ones(5)
        self.nan.fill_(0)
        torch.rand(1, generator=self.rng)
        self.numpy_rng.random()
        self.python_rng.random()
        self.steps += 1
        self.passing = torch.ones(2)
        self.layer.weight.data.add_(1)
        self.layer.bias = None
        self.layer.training = True
        self.extra = nn.Linear(2, 2)
        self.another = nn.Parameter(torch.zeros(1))
        self.register_buffer("late", torch.zeros(1))
        self.register_forward_hook(lambda *args: None)
        self.layer.forward = lambda x: x
        del self.me


def test_everything_that_changed_is_put_back():
    module = Busy()
    growing = module.__dict__.pop("growing")
    before = fingerprint.of_module(module)
    module.growing = growing
    with kept(module, written=list(module.parameters())):
        module.change()
    assert module.__dict__.pop("growing") is growing
    assert torch.equal(growing, torch.zeros(1))
    assert fingerprint.changes(before, fingerprint.of_module(module)) == []


def test_starting_anew_undoes_what_forward_passes_changed():
    module = Busy()
    with kept(module, written=list(module.parameters())) as lent:
        before = fingerprint.of_module(module)
        module.steps += 1
        module.calls += 1
        module.lru.move_to_end("a")
        module.counts["a"] += 5
        module.extra = nn.Linear(2, 2)
        module.passing = torch.ones(2)
        module.growing.data = torch.ones(7)
        lent.start_anew()
        found = fingerprint.changes(before, fingerprint.of_module(module))
        # Its memory is another one after resizing; its bits are the same.
        assert [change for change in found if "growing" not in change] == []
        assert torch.equal(module.growing, torch.zeros(1))


def test_a_module_is_lent_in_eval_mode_without_gradients():
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    module[1].eval()
    with kept(module):
        assert not any(part.training for part in module.modules())
        assert not module(torch.ones(1, 2)).requires_grad
    assert [part.training for part in module.modules()] == [True, True, False]
    assert torch.is_grad_enabled()


def test_a_module_whose_train_does_something_else_is_lent_in_eval_mode_too():
    class Frozen(nn.BatchNorm1d):
        def train(self, mode=True):
            raise AssertionError("nobody calls this")

    module = nn.Sequential(Frozen(2))
    with kept(module):
        assert not module[0].training
    assert module[0].training


def test_random_numbers_drawn_meanwhile_were_not_drawn():
    module = nn.Linear(2, 2)
    before = fingerprint.of_process()
    with kept(module):
        random.random()
        np.random.rand()
        torch.rand(1)
    assert fingerprint.of_process() == before


def test_hooks_that_watch_are_off_and_come_back_as_they_were():
    calls = []
    module = nn.Sequential(nn.Linear(2, 2))
    module.register_forward_hook(lambda *args: calls.append("forward"))
    module[0].register_forward_pre_hook(lambda *args: calls.append("pre"), prepend=True)
    module[0].register_forward_hook(lambda *args, **kwargs: calls.append("kwargs"), with_kwargs=True)
    module[0].register_full_backward_hook(lambda *args: calls.append("backward"))
    before = fingerprint.of_module(module)
    with kept(module) as lent:
        module(torch.zeros(1, 2))
        assert lent.num_hooks_off == 4
    assert calls == []
    assert fingerprint.changes(before, fingerprint.of_module(module)) == []
    module(torch.zeros(1, 2))
    assert calls == ["pre", "kwargs", "forward"]


def test_hooks_run_where_that_is_asked_for():
    calls = []
    module = nn.Linear(2, 2)
    module.register_forward_hook(lambda *args: calls.append("forward"))
    with kept(module, keeps_hooks=True) as lent:
        module(torch.zeros(1, 2))
        assert lent.num_hooks_off == 0
    assert calls == ["forward"]


def test_hooks_that_are_part_of_the_forward_pass_stay_on():
    import torch.nn.utils.prune as prune

    with pytest.warns(FutureWarning):
        normed = nn.utils.weight_norm(nn.Linear(2, 2))
    pruned = prune.l1_unstructured(nn.Linear(2, 2), "weight", 0.5)
    for module in (normed, pruned):
        before = fingerprint.of_module(module)
        with kept(module, written=list(module.parameters())) as lent:
            assert lent.num_hooks_off == 0
            out = module(torch.ones(1, 2))
            next(iter(module.parameters())).data.zero_()
            for parameter in module.parameters():
                parameter.data.zero_()
            assert not torch.equal(module(torch.ones(1, 2)), out)
        assert fingerprint.changes(before, fingerprint.of_module(module)) == []


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64, torch.complex128, torch.int8],
)
def test_any_dtype_comes_back(dtype):
    module = nn.Module()
    module.register_buffer("plain", torch.arange(4).to(dtype))
    module.register_buffer("turned", torch.arange(6).reshape(2, 3).to(dtype).t())
    module.register_buffer("none", torch.zeros(0, dtype=dtype))
    before = fingerprint.of_module(module)
    with kept(module):
        module.plain.add_(1)
        module.turned.add_(1)
    assert fingerprint.changes(before, fingerprint.of_module(module)) == []


def test_special_numbers_come_back_as_the_bits_they_were():
    payload = torch.tensor([0x7FC00001, -0x3FFFFF, -0x80000000, 0x7F800000], dtype=torch.int32).view(torch.float32)
    module = nn.Module()
    module.register_buffer("odd", payload)
    bits = payload.view(torch.int32).clone()
    with kept(module):
        module.odd.zero_()
    assert torch.equal(module.odd.view(torch.int32), bits)


def test_gradients_are_left_alone():
    module = nn.Linear(2, 2)
    module(torch.ones(1, 2)).sum().backward()
    grads = [parameter.grad for parameter in module.parameters()]
    with kept(module, written=list(module.parameters())):
        module.weight.data.zero_()
    assert all(parameter.grad is grad for parameter, grad in zip(module.parameters(), grads, strict=True))


def test_a_gradient_that_was_changed_is_told_of():
    module = nn.Linear(2, 2)
    module(torch.ones(1, 2)).sum().backward()
    with pytest.raises(NotRestoredError, match="load your last checkpoint"), kept(module):
        module.weight.grad.add_(1)


def test_a_weight_that_was_changed_without_being_named_is_told_of():
    module = nn.Linear(2, 2)
    with pytest.raises(NotRestoredError, match="load your last checkpoint"), kept(module):
        module.weight.data.add_(1)


def test_a_pending_backward_pass_is_not_disturbed():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.randn(4, 3)
    module(x).sum().backward()
    expected = [parameter.grad.clone() for parameter in module.parameters()]
    module.zero_grad()
    pending = module(x).sum()
    with kept(module, written=list(module.parameters())):
        for parameter in module.parameters():
            parameter.data.normal_()
        module(x)
    pending.backward()
    assert all(torch.equal(p.grad, grad) for p, grad in zip(module.parameters(), expected, strict=True))


def test_the_backup_is_a_copy_in_the_order_asked_for():
    module = nn.Linear(2, 2)
    with kept(module, written=[module.bias, module.weight]) as lent:
        assert torch.equal(lent.backup[0], module.bias)
        assert torch.equal(lent.backup[1], module.weight)
        assert lent.backup[1].data_ptr() != module.weight.data_ptr()


def test_tensors_that_share_memory_come_back():
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = nn.Parameter(module[0].weight.data.t())
    before = fingerprint.of_module(module)
    with kept(module, written=list(module.parameters())):
        module[0].weight.data.add_(1)
    assert fingerprint.changes(before, fingerprint.of_module(module)) == []


def test_meta_and_sparse_tensors_are_let_be():
    module = nn.Linear(2, 2, device="meta")
    module.sparse = torch.eye(2).to_sparse()
    with kept(module):
        pass


def test_the_checksum_sees_what_must_not_change():
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    sums = [checksum(module)]
    module[1].running_mean.add_(1)
    sums.append(checksum(module))
    module[0].weight.requires_grad_(False)
    sums.append(checksum(module))
    module[1].eval()
    sums.append(checksum(module))
    module[0].weight = nn.Parameter(module[0].weight.detach().clone(), requires_grad=False)
    sums.append(checksum(module))
    module.register_forward_hook(lambda *args: None)
    sums.append(checksum(module))
    assert len(set(sums)) == 6
    assert checksum(module) == sums[-1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.complex64, torch.uint8])
def test_a_sum_over_bits_tells_one_bit(dtype):
    tensor = torch.zeros(7, dtype=dtype)
    before = bits_sum(tensor)
    tensor.view(torch.uint8)[3] ^= 1
    assert bits_sum(tensor) != before


def test_bits_tell_what_equality_does_not():
    assert same_bits(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.tensor([0.0]), torch.tensor([0.0], dtype=torch.float64))
    assert not same_bits(torch.zeros(2), torch.zeros(3))
    assert same_bits(torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j]))
