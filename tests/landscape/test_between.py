"""From one checkpoint to another: x = 0 is the one, x = 1 the other, in whatever form it comes."""

# mypy: disable-error-code="misc"
# ruff: noqa: ARG005
from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tests.landscape import reference, zoo
from trackio_like.landscape import Evaluation, LandscapeError


def between(case, model_b, **options):
    evaluation = Evaluation(
        case.model, case.batches, nbatches=99, model_b=model_b, criterion=case.criterion, loss_fn=case.loss_fn,
        **{"n": 5, "exact": True, **options},
    )  # fmt: skip
    evaluation.run()
    return evaluation.result()


def other(case, *, by=0.3):
    """The same model elsewhere: every parameter and floating-point buffer moved."""
    torch.manual_seed(5)
    model = copy.deepcopy(case.model)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn_like(tensor) * by)
        for name, buffer in model.named_buffers():
            if buffer.is_floating_point() and "running" in name:
                buffer.mul_(1.5).add_(0.1)
    return model


def loss_of(case, model):
    return reference.mean_loss(copy.deepcopy(model).double(), case, [reference.widened(b) for b in case.batches])


def column(found, x):
    (at,) = np.flatnonzero(found.x_C == x)
    (middle,) = np.flatnonzero(found.y_R == 0)
    return found.z_RC[middle, at]


@pytest.mark.parametrize("mode", ["serial", "vector"])
@pytest.mark.parametrize("kind", ["cnn-bn", "tied-transformer", "mlp", "lstm", "lora", "bert", "llama"])
def test_the_losses_at_0_and_1_are_those_of_the_two_models(kind, mode):
    case = zoo.make(kind)
    model_b = other(case)
    found = between(case, model_b, mode=mode)
    assert found.x_C[0] == -0.5
    assert found.x_C[-1] == 1.5
    assert found.meta["mode"] == (mode if case.can_vector else "serial")
    assert column(found, 0.0) == pytest.approx(loss_of(case, case.model), rel=1e-6)
    assert column(found, 1.0) == pytest.approx(loss_of(case, model_b), rel=1e-6)
    assert [(mark.label, mark.x) for mark in found.marks] == [("θ_a", 0.0), ("θ_b", 1.0)]


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_half_way_is_half_way_with_running_statistics(mode):
    case = zoo.make("cnn-bn")
    model_b = other(case)
    middle = copy.deepcopy(case.model)
    with torch.no_grad():
        tensors = zip(
            [*middle.parameters(), *middle.buffers()], [*model_b.parameters(), *model_b.buffers()], strict=True
        )
        for mine, theirs in tensors:
            if mine.is_floating_point():
                mine.lerp_(theirs, 0.5)
    found = between(case, model_b, mode=mode, line=True, n=5)
    assert column(found, 0.5) == pytest.approx(loss_of(case, middle), rel=1e-6)


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_a_variance_does_not_fall_below_0_beyond_the_ends(mode):
    case = zoo.make("cnn-bn")
    model_b = copy.deepcopy(case.model)
    with torch.no_grad():
        for name, buffer in model_b.named_buffers():
            if name.endswith("running_var"):
                buffer.mul_(20)
    found = between(case, model_b, mode=mode)
    assert np.isfinite(found.z_RC).all()


FORMS = {
    "module": lambda model, folder: model,
    "compiled": lambda model, folder: torch.compile(model, backend="eager"),
    "state dict": lambda model, folder: model.state_dict(),
    "DDP": lambda model, folder: {f"module.{key}": value for key, value in model.state_dict().items()},
    "compiled DDP": lambda model, folder: {f"module._orig_mod.{k}": v for k, v in model.state_dict().items()},
    "checkpoint": lambda model, folder: {"epoch": 3, "model_state_dict": model.state_dict(), "optimizer": {"lr": 1.0}},
    "nested": lambda model, folder: {"state": 1, "model": {"state_dict": model.state_dict()}},
    "path": lambda model, folder: saved(model.state_dict(), folder / "b.pt"),
    "text path": lambda model, folder: str(saved({"state_dict": model.state_dict()}, folder / "b.ckpt")),
    "safetensors": lambda model, folder: saved_safely(model.state_dict(), folder / "b.safetensors"),
}


def saved(state, path):
    torch.save(state, path)
    return path


def saved_safely(state, path):
    from safetensors.torch import save_file

    save_file({key: value.clone() for key, value in state.items()}, path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_the_other_model_may_come_as(form, tmp_path):
    case = zoo.make("cnn-bn")
    model_b = other(case)
    found = between(case, FORMS[form](model_b, tmp_path), line=True)
    assert column(found, 1.0) == pytest.approx(loss_of(case, model_b), rel=1e-6)


@pytest.mark.parametrize("kind", ["llama", "bert", "tied-transformer"])
def test_what_a_state_dict_leaves_out_on_purpose_stays_as_it_is(kind):
    case = zoo.make(kind)
    model_b = other(case)
    found = between(case, model_b.state_dict(), line=True)
    assert column(found, 1.0) == pytest.approx(loss_of(case, model_b), rel=1e-6)


@pytest.mark.parametrize("left_out", ["embedding.weight", "head.weight"])
def test_a_tied_weight_may_have_either_of_its_names(left_out):
    case = zoo.make("tied-transformer")
    model_b = other(case)
    state = model_b.state_dict()
    del state[left_out]
    found = between(case, state, line=True)
    assert column(found, 1.0) == pytest.approx(loss_of(case, model_b), rel=1e-6)


def test_a_half_precision_checkpoint_of_a_full_precision_model_is_taken_as_it_is():
    case = zoo.make("mlp")
    model_b = other(case)
    rounded = copy.deepcopy(model_b).bfloat16().float()
    found = between(case, {key: value.bfloat16() for key, value in model_b.state_dict().items()}, line=True)
    assert column(found, 1.0) == pytest.approx(loss_of(case, rounded), rel=1e-6)


def test_the_other_model_is_not_changed_either():
    case = zoo.make("cnn-bn")
    model_b = other(case).train()
    before = {key: value.clone() for key, value in model_b.state_dict().items()}
    between(case, model_b)
    assert all(torch.equal(value, before[key]) for key, value in model_b.state_dict().items())
    assert model_b.training


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda state: state.pop("0.weight"), r"model_b has no 0\.weight: .* same model"),
        (lambda state: state.update({"0.weight": torch.zeros(2, 2)}), r"'0\.weight' has the shape .*\(2, 2\)"),
        (lambda state: [state.pop(key) for key in list(state)], "holds no weights by name"),
    ],
)
def test_a_checkpoint_of_another_model_says_what_is_wrong(change, says):
    case = zoo.make("mlp")
    state = dict(case.model.state_dict())
    change(state)
    with pytest.raises(LandscapeError, match=says):
        between(case, state)


def test_missing_persistent_buffers_are_missed():
    case = zoo.make("cnn-bn")
    state = {key: value for key, value in case.model.state_dict().items() if "running_mean" not in key}
    with pytest.raises(LandscapeError, match=r"has no norm1\.running_mean"):
        between(case, state)


def test_what_is_no_checkpoint_says_so(tmp_path):
    case = zoo.make("mlp")
    with pytest.raises(LandscapeError, match="A int is no checkpoint"):
        between(case, 3)
    with pytest.raises(LandscapeError, match="cannot be read"):
        between(case, tmp_path / "missing.pt")
    (tmp_path / "text.pt").write_text("no checkpoint")
    with pytest.raises(LandscapeError, match="cannot be read"):
        between(case, tmp_path / "text.pt")


def test_a_checkpoint_file_runs_no_code(tmp_path):
    class Runs:
        def __reduce__(self):
            return (print, ("run",))

    torch.save({"state_dict": Runs()}, tmp_path / "evil.pt")
    with pytest.raises(LandscapeError, match="cannot be read"):
        between(zoo.make("mlp"), tmp_path / "evil.pt")


def test_a_wrapped_model_may_be_compared_with_a_plain_checkpoint():
    case = zoo.make("mlp")
    model_b = other(case)
    wrapped = zoo.Case(model=nn.DataParallel(case.model), batches=case.batches)
    found = between(wrapped, model_b.state_dict(), line=True)
    assert column(found, 1.0) == pytest.approx(loss_of(case, model_b), rel=1e-6)
