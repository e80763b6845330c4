"""Training goes on after a landscape as if it had not been drawn, wherever in training it is drawn."""

# mypy: disable-error-code="misc"
# ruff: noqa: ARG005
from __future__ import annotations

import contextlib
import copy
import random
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from tests.landscape import reference, zoo
from tests.module_state import fingerprint
from trackio_like.landscape import Evaluation, LandscapeError

MODES = ["serial", "vector"]


def evaluated(case, **options):
    evaluation = Evaluation(
        case.model, case.batches, nbatches=99, criterion=case.criterion, loss_fn=case.loss_fn,
        **{"n": 3, "exact": True, **options},
    )  # fmt: skip
    evaluation.run()
    return evaluation.result()


def centre_loss(case):
    model = copy.deepcopy(case.model).double()
    return reference.mean_loss(model, case, [reference.widened(batch) for batch in case.batches])


class Step:
    """A model in the middle of a training step: gradients, an optimizer with a state, a backward pass to come."""

    def __init__(self, kind):
        self.case = zoo.make(kind)
        self.model = self.case.model
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-3)
        torch.manual_seed(0)
        for _ in range(2):
            self.optimizer.zero_grad()
            self.loss().backward()
            self.optimizer.step()

    def loss(self):
        return reference.batch_loss(self.model, self.case.batches[0], self.case)

    def fingerprint(self):
        found = fingerprint.of_module(self.model) | fingerprint.of_process()
        return found | {"optimizer": fingerprint.of_optimizer(self.optimizer)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", zoo.KINDS)
def test_nothing_of_a_step_in_progress_changes(kind, mode):
    step = Step(kind)
    before = step.fingerprint()
    found = evaluated(step.case, mode=mode)
    assert fingerprint.changes(before, step.fingerprint()) == []
    assert found.z_RC[1, 1] == pytest.approx(centre_loss(step.case), rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["cnn-bn", "dropout", "tied-transformer", "lstm", "control-flow", "llama"])
def test_training_goes_on_bit_for_bit_as_without(kind, mode):
    final = []
    for draws in (False, True):
        step = Step(kind)
        torch.manual_seed(1)
        for _ in range(2):
            step.optimizer.zero_grad()
            pending = step.loss()
            if draws:
                evaluated(step.case, mode=mode)
            pending.backward()
            step.optimizer.step()
        final.append([p.detach().clone() for p in step.model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*final, strict=True))


class Failing:
    """A criterion that raises at the k-th call."""

    def __init__(self, at, error):
        self.at, self.error, self.calls = at, error, 0

    def __call__(self, output, target):
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return nn.functional.cross_entropy(output, target)


ERRORS = [ValueError("bad"), KeyboardInterrupt(), SystemExit(1), MemoryError(), torch.OutOfMemoryError("CUDA")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("at", [1, 3, 8, 20])
def test_a_criterion_that_raises_leaves_the_model_as_it_was(at, error, mode):
    step, failing = Step("cnn-bn"), Failing(at, error)
    case = zoo.Case(model=step.model, batches=step.case.batches, criterion=failing)
    before = step.fingerprint()
    with contextlib.suppress(type(error)):  # running out of memory once is mended by smaller batches
        evaluated(case, mode=mode)
    assert failing.calls >= at or mode == "vector"
    assert fingerprint.changes(before, step.fingerprint()) == []


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["forward", "loader", "progress"])
def test_what_fails_elsewhere_leaves_the_model_as_it_was(where, error):
    step = Step("mlp")
    calls = 0

    def fail(*args):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise error
        return args[-1] if args else None

    model = step.model
    loader = step.case.batches
    on_progress = None
    if where == "forward":
        model[1].register_forward_hook(fail)
    elif where == "progress":
        on_progress = fail
    else:

        class Loader:
            def __iter__(self):
                for _ in range(9):
                    random.random()
                    torch.rand(1)
                    fail()
                    yield step.case.batches[0]

        loader = Loader()
    before = step.fingerprint()
    with pytest.raises(type(error)):
        Evaluation(model, loader, n=5, exact=True, mode="serial", keep_hooks=True, on_progress=on_progress).run()
    assert fingerprint.changes(before, step.fingerprint()) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cached", [True, False])
def test_inside_autocast_each_point_is_computed_with_its_own_weights(mode, cached):
    step = Step("mlp")
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=cached):
        pending = step.loss()  # fills the cache with weights cast to bfloat16
        before = step.fingerprint()
        found = evaluated(step.case, mode=mode)
        assert fingerprint.changes(before, step.fingerprint()) == []
    assert len({round(z, 4) for z in found.z_RC.flat}) > 5
    assert found.z_RC[1, 1] == pytest.approx(centre_loss(step.case), rel=2e-2)
    plain = evaluated(step.case)
    np.testing.assert_allclose(found.z_RC, plain.z_RC, rtol=3e-2)
    grads = torch.autograd.grad(pending, list(step.model.parameters()))
    assert all(torch.isfinite(grad).all() for grad in grads)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("context", [torch.inference_mode, torch.no_grad, torch.enable_grad])
@pytest.mark.parametrize("kind", ["cnn-bn", "lstm", "tied-transformer"])
def test_inside_any_gradient_mode_the_losses_are_the_same(kind, context, mode):
    step = Step(kind)
    expected = evaluated(step.case, mode=mode)
    before = step.fingerprint()
    with context():
        inside = fingerprint.of_process()
        found = evaluated(step.case, mode=mode)
        assert fingerprint.of_process() == inside
    np.testing.assert_allclose(found.z_RC, expected.z_RC, rtol=1e-6)
    assert fingerprint.changes(before, step.fingerprint()) == []
    step.loss().backward()


@pytest.mark.parametrize("mode", MODES)
def test_a_compiled_model_is_evaluated_without_its_guards(mode):
    step = Step("mlp")
    compiled = torch.compile(step.model, backend="eager")
    compiled(step.case.batches[0][0])
    before = step.fingerprint()
    found = evaluated(zoo.Case(model=compiled, batches=step.case.batches), mode=mode)
    assert fingerprint.changes(before, step.fingerprint()) == []
    np.testing.assert_allclose(found.z_RC, evaluated(step.case, mode=mode).z_RC, rtol=1e-6)


def test_a_model_compiled_in_place_is_evaluated_all_the_same():
    step = Step("mlp")
    expected = evaluated(step.case).z_RC
    step.model.compile(backend="eager")
    step.model(step.case.batches[0][0])
    before = step.fingerprint()
    found = evaluated(step.case, mode="serial")
    assert fingerprint.changes(before, step.fingerprint()) == []
    np.testing.assert_allclose(found.z_RC, expected, rtol=1e-6)


def test_a_data_parallel_model_is_evaluated_without_its_collective_calls():
    case = zoo.make("cnn-bn")
    wrapped = zoo.Case(model=nn.DataParallel(case.model), batches=case.batches)
    before = fingerprint.of_module(wrapped.model)
    found = evaluated(wrapped)
    assert fingerprint.changes(before, fingerprint.of_module(wrapped.model)) == []
    np.testing.assert_allclose(found.z_RC, evaluated(case).z_RC, rtol=1e-6)


def test_an_epoch_goes_on_with_the_same_batches():
    seen = []
    for draws in (False, True):
        torch.manual_seed(4)
        data = TensorDataset(torch.randn(24, 6), torch.randint(0, 4, (24,)))
        loader = DataLoader(data, batch_size=4, shuffle=True)
        model, batches = zoo.mlp(), []
        for number, (x, _) in enumerate(loader):
            batches.append(x)
            if draws and number == 2:
                Evaluation(model, loader, nbatches=3, n=3).run()
        seen.append(torch.cat([*batches, torch.rand(1, 6)]))
    assert torch.equal(*seen)


def normed(kind):
    linear = nn.Linear(6, 8)
    if kind == "old weight norm":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return nn.utils.weight_norm(linear)
    if kind == "old spectral norm":
        return nn.utils.spectral_norm(linear)
    parametrize = nn.utils.parametrizations
    return {
        "weight norm": parametrize.weight_norm, "spectral norm": parametrize.spectral_norm,
        "orthogonal": parametrize.orthogonal,
    }[kind](linear)  # fmt: skip


NORMED = ["old weight norm", "old spectral norm", "weight norm", "spectral norm", "orthogonal"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", NORMED)
def test_weights_that_are_made_of_others_follow_them_and_come_back(kind, mode):
    torch.manual_seed(0)
    model = nn.Sequential(normed(kind), nn.Tanh(), nn.Linear(8, 4))
    case = zoo.Case(model=model, batches=[(torch.randn(5, 6), torch.arange(5) % 4)])
    model(case.batches[0][0])
    before = fingerprint.of_module(model)
    found = evaluated(case, mode=mode)
    assert fingerprint.changes(before, fingerprint.of_module(model)) == []
    with torch.no_grad():
        expected = float(nn.functional.cross_entropy(model.eval()(case.batches[0][0]), case.batches[0][1]))
    assert found.z_RC[1, 1] == pytest.approx(expected, rel=1e-5)
    moves_first = {name for name, p in model.named_parameters() if name.startswith("0.") and p.ndim > 1}
    assert moves_first
    only_first = {
        name: torch.randn(p.shape) if name in moves_first and "original0" not in name and "_g" not in name else p * 0
        for name, p in model.named_parameters()
    }
    moved = evaluated(case, mode=mode, directions=(only_first, only_first))
    assert not np.allclose(moved.z_RC, expected)


def test_lazily_made_buffers_and_masks_are_gone_again():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 4)

        def forward(self, x):
            if "mask" not in self._buffers:
                self.register_buffer("mask", torch.ones(len(x), 1), persistent=False)
            return self.layer(x) * self.mask[: len(x)]

    case = zoo.Case(model=Masked(), batches=zoo.make("mlp").batches)
    before = fingerprint.of_module(case.model)
    for mode in MODES:
        evaluated(case, mode=mode)
        assert fingerprint.changes(before, fingerprint.of_module(case.model)) == []


class Checkpointed(nn.Module):
    def __init__(self, use_reentrant):
        super().__init__()
        self.body, self.head = zoo.mlp((6, 8, 8)), nn.Linear(8, 4)
        self.use_reentrant = use_reentrant

    def forward(self, x):
        return self.head(checkpoint(self.body, x, use_reentrant=self.use_reentrant))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradient_checkpointing_goes_on_after_a_landscape(use_reentrant, mode):
    torch.manual_seed(0)
    case = zoo.Case(model=Checkpointed(use_reentrant), batches=zoo.make("mlp").batches)
    x = case.batches[0][0].clone().requires_grad_()
    case.model(x).sum().backward()
    expected = [p.grad.clone() for p in case.model.parameters()]
    case.model.zero_grad()
    pending = case.model(x).sum()
    found = evaluated(case, mode=mode)
    pending.backward()
    assert all(torch.equal(p.grad, grad) for p, grad in zip(case.model.parameters(), expected, strict=True))
    assert found.z_RC[1, 1] == pytest.approx(centre_loss(case), rel=1e-6)


def test_a_users_hooks_are_not_called():
    calls = []
    case = zoo.make("cnn-bn")
    for part in case.model.modules():
        part.register_forward_hook(lambda *args: calls.append(1))
        part.register_forward_pre_hook(lambda *args: calls.append(1))
    for mode in MODES:
        found = evaluated(case, mode=mode)
        assert found.meta["num_hooks_off"] == 2 * len(list(case.model.modules()))
    assert calls == []


def test_hooks_may_stay_on():
    case = zoo.make("mlp")
    handle = case.model[0].register_forward_hook(lambda module, args, output: output * 2)
    without = evaluated(case).z_RC[1, 1]
    within = evaluated(case, keep_hooks=True).z_RC[1, 1]
    expected = centre_loss(case)
    handle.remove()
    assert without == pytest.approx(centre_loss(case), rel=1e-6)
    assert within == pytest.approx(expected, rel=1e-6)


def test_a_batch_norm_that_trains_is_evaluated_by_its_running_statistics():
    case = zoo.make("cnn-bn")
    before = case.model.norm1.num_batches_tracked.clone()
    found = evaluated(case)
    assert found.z_RC[1, 1] == pytest.approx(centre_loss(case), rel=1e-6)
    assert torch.equal(case.model.norm1.num_batches_tracked, before)
    assert case.model.norm2.training
    assert not case.model.norm1.training


def test_dropout_is_off_and_back_on():
    case = zoo.make("dropout")
    first, second = (evaluated(case, mode="serial").z_RC for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert case.model.training
    assert not torch.equal(case.model(case.batches[0][0]), case.model(case.batches[0][0]))


def test_codes_of_quantised_weights_do_not_move():
    class Quantised(nn.Module):
        def __init__(self):
            super().__init__()
            self.codes = nn.Parameter(torch.randint(-9, 9, (6, 6), dtype=torch.int8), requires_grad=False)
            self.layer = nn.Linear(6, 4)

        def forward(self, x):
            return self.layer(x @ (self.codes.float() / 9))

    case = zoo.Case(model=Quantised(), batches=zoo.make("mlp").batches)
    for params in ("trainable", "all"):
        assert evaluated(case, params=params).meta["num_moved"] == 24


def test_complex_weights_move():
    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 6, dtype=torch.complex64) / 3)

        def forward(self, x):
            return (x.to(torch.complex64) @ self.weight.T).abs()

    case = zoo.Case(model=Spectral(), batches=zoo.make("mlp").batches)
    before = fingerprint.of_module(case.model)
    serial, vector = (evaluated(case, mode=mode) for mode in MODES)
    np.testing.assert_allclose(serial.z_RC, vector.z_RC, rtol=1e-6)
    assert serial.z_RC.std() > 0
    assert fingerprint.changes(before, fingerprint.of_module(case.model)) == []


def test_a_model_without_values_says_so():
    case = zoo.make("mlp")
    with pytest.raises(LandscapeError, match="load the model's weights first"):
        evaluated(zoo.Case(model=case.model.to("meta"), batches=case.batches))


def test_a_sharded_model_says_what_to_do():
    class FullyShardedDataParallel(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

    with pytest.raises(LandscapeError, match="not supported: evaluate a whole copy"):
        evaluated(zoo.Case(model=FullyShardedDataParallel(zoo.mlp()), batches=zoo.make("mlp").batches))


def test_a_default_device_or_dtype_of_the_process_changes_nothing():
    case = zoo.make("mlp")
    expected = evaluated(case, mode="serial").z_RC
    for mode in MODES:
        with torch.device("meta"):
            found = evaluated(case, mode=mode)
        np.testing.assert_allclose(found.z_RC, expected, rtol=1e-6)
        assert found.meta["mode"] == mode
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for mode in MODES:
            np.testing.assert_allclose(evaluated(case, mode=mode).z_RC, expected, rtol=1e-6)
    finally:
        torch.set_default_dtype(before)
