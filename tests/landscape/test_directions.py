"""Random directions: each filter has the norm of the model's own, and nothing else decides what they are."""

# mypy: disable-error-code="misc"
from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from tests.landscape import zoo
from trackio_like.landscape import LandscapeError, filter_normalized_directions
from trackio_like.landscape.directions import dead_share, noise_like, random_direction
from trackio_like.landscape.weights import find_weights


def directions(model, seed=0, **options):
    """δ and η by the names of the parameters."""
    names = [name for name, _ in model.named_parameters()]
    return [dict(zip(names, tensors, strict=True)) for tensors in filter_normalized_directions(model, seed, **options)]


def norms(tensor, *axes):
    return torch.linalg.vector_norm(tensor.detach().double(), dim=axes)


def assert_same_norms(model, name, *axes, of=lambda tensor: tensor):
    weight = dict(model.named_parameters())[name]
    for direction in directions(model):
        torch.testing.assert_close(norms(of(direction[name]), *axes), norms(of(weight), *axes), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("model", "axes"),
    [
        (nn.Linear(7, 5), (1,)),
        (nn.Linear(1, 5), (1,)),
        (nn.Linear(7, 1), (1,)),
        (nn.Bilinear(3, 4, 5), (1, 2)),
        (nn.Conv1d(4, 6, 3), (1, 2)),
        (nn.Conv1d(4, 1, 3), (1, 2)),
        (nn.Conv2d(4, 6, 3), (1, 2, 3)),
        (nn.Conv2d(4, 1, 3), (1, 2, 3)),
        (nn.Conv2d(4, 8, 3, groups=2), (1, 2, 3)),
        (nn.Conv2d(4, 4, 1, groups=4), (1, 2, 3)),
        (nn.Conv3d(2, 3, 2), (1, 2, 3, 4)),
        (nn.ConvTranspose1d(4, 6, 3), (0, 2)),
        (nn.ConvTranspose2d(4, 6, 3), (0, 2, 3)),
        (nn.ConvTranspose2d(1, 6, 3), (0, 2, 3)),
        (nn.ConvTranspose3d(2, 3, 2), (0, 2, 3, 4)),
        (nn.Embedding(9, 4), (1,)),
        (nn.EmbeddingBag(9, 4), (1,)),
    ],
)
def test_each_filter_of_a_direction_has_the_norm_of_the_models(model, axes):
    assert_same_norms(model, "weight", *axes)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_filter_of_a_grouped_transposed_convolution_is_an_output_channel_of_its_group(groups):
    model = nn.ConvTranspose2d(4, 8, 3, groups=groups)
    # [in, out / groups, ...]: channel k of group g reads the inputs of g alone.
    assert_same_norms(model, "weight", 1, 3, 4, of=lambda w: w.reshape(groups, 4 // groups, 8 // groups, 3, 3))


def test_the_linear_layer_of_gpt2_is_stored_the_other_way_round():
    from transformers.pytorch_utils import Conv1D

    assert_same_norms(Conv1D(5, 7), "weight", 0)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("num_in", [1, 3])
def test_a_recurrent_layer_has_a_filter_for_each_gate_and_unit(kind, num_in):
    model = kind(num_in, 4)
    assert_same_norms(model, "weight_ih_l0", 1)
    assert_same_norms(model, "weight_hh_l0", 1)


def test_attention_has_a_filter_for_each_projected_number():
    model = nn.MultiheadAttention(8, 2)
    assert_same_norms(model, "in_proj_weight", 1)
    assert_same_norms(model, "out_proj.weight", 1)


def test_position_embeddings_and_stacked_experts_are_normalised_by_row():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.position = nn.Parameter(torch.randn(1, 5, 8))
            self.experts = nn.Parameter(torch.randn(3, 6, 8))

    assert_same_norms(Experts(), "position", 2)
    assert_same_norms(Experts(), "experts", 2)


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 6))


class Still(nn.Module):
    """What random directions leave where it is, beside one weight that moves."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.layer_norm = nn.LayerNorm((3, 6))
        self.group_norm = nn.GroupNorm(2, 6)
        self.batch_norm = nn.BatchNorm2d(6)
        self.rms_norm = nn.RMSNorm((2, 6))
        self.own = LayerScale()
        self.gamma = nn.Parameter(torch.ones(6, 1, 1))
        self.layer_scale = nn.Parameter(torch.ones(1, 1, 6))
        self.bias_table = nn.Parameter(torch.ones(6, 6))


def test_biases_norm_layers_and_scales_do_not_move():
    for direction in directions(Still()):
        assert [name for name, tensor in direction.items() if tensor.any()] == ["linear.weight"]


def test_frozen_parameters_do_not_move_and_low_rank_ones_do():
    for direction in directions(zoo.make("lora").model):
        moved = {name for name, tensor in direction.items() if tensor.any()}
        assert moved == {f"{i}.lora_{part}.weight" for i in (0, 2, 4) for part in "AB"}


@pytest.mark.parametrize("layer", [nn.Linear(5, 4), nn.Conv1d(3, 4, 2), nn.Conv2d(3, 4, 2), nn.Linear(1, 4)])
def test_of_a_weight_norm_the_direction_moves_and_the_gain_does_not(layer):
    model = nn.utils.parametrizations.weight_norm(layer)
    gain, moving = "parametrizations.weight.original0", "parametrizations.weight.original1"
    for direction in directions(model):
        assert not direction[gain].any()
        assert not direction["bias"].any()
    assert_same_norms(model, moving, *range(1, layer.parametrizations.weight.original1.ndim))


def test_old_weight_norm_and_spectral_norm_move_what_they_are_made_of():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = nn.Sequential(nn.utils.weight_norm(nn.Linear(5, 4)), nn.utils.spectral_norm(nn.Linear(4, 4)))
    for direction in directions(model):
        assert {name for name, tensor in direction.items() if tensor.any()} == {"0.weight_v", "1.weight_orig"}
    assert_same_norms(model, "1.weight_orig", 1)


def test_a_tied_weight_moves_once_whatever_it_is_called():
    model = zoo.make("tied-transformer").model
    moved = [weight.name for weight in find_weights(model) if weight.is_filtered]
    assert moved.count("embedding.weight") == 1
    assert "head.weight" not in moved


def test_two_parameters_in_one_memory_are_one_weight():
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = nn.Parameter(model[0].weight.data.t())
    delta, _ = filter_normalized_directions(model)
    assert delta[0].any()
    assert not delta[1].any()


def test_the_plane_is_the_same_in_every_precision():
    planes = {}
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        model = zoo.make("cnn").model.to(dtype)
        planes[dtype] = filter_normalized_directions(model, 4, dtype=torch.float64)
    for dtype, bound in ((torch.float64, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
        for axis in (0, 1):
            for wide, found in zip(planes[torch.float32][axis], planes[dtype][axis], strict=True):
                assert (wide - found).norm() <= bound * wide.norm()


def test_another_layer_does_not_change_the_directions_of_those_before():
    small, large = zoo.mlp((6, 12, 4)), zoo.mlp((6, 12, 4))
    large.load_state_dict(small.state_dict())
    large.add_module("added", nn.Linear(4, 4))
    for before, after in zip(directions(small), directions(large), strict=True):
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert after["added.weight"].any()


def test_compiling_or_wrapping_a_model_does_not_change_its_plane():
    model = zoo.mlp()
    compiled = torch.compile(model, backend="eager")
    averaged = torch.optim.swa_utils.AveragedModel(model)
    for wrapped in (compiled, nn.DataParallel(model), averaged):
        for before, after in zip(
            filter_normalized_directions(model), filter_normalized_directions(wrapped), strict=True
        ):
            assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_seeds_and_axes_give_other_directions_and_the_same_seed_the_same():
    model = zoo.mlp()
    delta, eta = filter_normalized_directions(model, 1)
    again, _ = filter_normalized_directions(model, 1)
    other, _ = filter_normalized_directions(model, 2)
    assert torch.equal(delta[0], again[0])
    assert not torch.equal(delta[0], other[0])
    assert not torch.equal(delta[0], eta[0])


def test_delta_and_eta_are_nearly_at_right_angles():
    model = zoo.mlp((40, 80, 40))
    delta, eta = (torch.cat([tensor.flatten() for tensor in axis]) for axis in filter_normalized_directions(model))
    assert abs(float(torch.cosine_similarity(delta, eta, dim=0))) < 0.1


def test_layers_of_one_shape_get_different_noise():
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
    delta, _ = filter_normalized_directions(model)
    assert abs(float(torch.cosine_similarity(delta[0].flatten(), delta[2].flatten(), dim=0))) < 0.6


def test_drawing_leaves_trainings_random_numbers_alone():
    model = zoo.mlp()
    before = torch.get_rng_state()
    filter_normalized_directions(model)
    assert torch.equal(torch.get_rng_state(), before)


def test_noise_is_drawn_on_the_cpu_whatever_the_default_device_is():
    expected = noise_like(torch.zeros(4, 3), key="a")
    with torch.device("meta"):
        found = noise_like(torch.zeros(4, 3, device="cpu"), key="a")
    assert torch.equal(found, expected)


def test_a_filter_of_zeros_stays_where_it_is_and_is_counted():
    model = nn.Linear(4, 5)
    with torch.no_grad():
        model.weight[1:3] = 0
    delta, _ = filter_normalized_directions(model)
    assert [bool(row.any()) for row in delta[0]] == [True, False, False, True, True]
    assert dead_share(find_weights(model)) == pytest.approx(2 / 5)


def test_a_zero_initialised_low_rank_model_says_how_much_of_it_is_dead():
    model = zoo.LowRank(6, 8, is_zero=True)
    assert dead_share(find_weights(model)) == pytest.approx(16 / (16 + 12))


def test_complex_weights_get_complex_noise():
    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 5, dtype=torch.complex64))

    delta, _ = filter_normalized_directions(Spectral())
    assert delta[0].is_complex()
    assert delta[0].imag.any()
    norms_found = torch.linalg.vector_norm(delta[0], dim=1)
    assert norms_found.dtype == torch.float32


def test_device_and_dtype_are_as_asked_for():
    delta, _ = filter_normalized_directions(nn.Linear(3, 2), device="cpu", dtype=torch.float16)
    assert {tensor.dtype for tensor in delta} == {torch.float16}


def test_what_random_directions_are_made_of_stays_the_centre_when_the_model_moves():
    model = nn.Linear(4, 3)
    (weight, *_) = find_weights(model)
    direction = random_direction([weight], seed=0, axis=0)
    before = direction.of(weight)
    with torch.no_grad():
        model.weight.mul_(5)
    assert torch.equal(direction.of(weight), before)


def test_a_model_with_nothing_to_move_says_so():
    with pytest.raises(LandscapeError, match="no trainable floating-point parameters"):
        filter_normalized_directions(nn.ReLU())
    with pytest.raises(LandscapeError, match="no trainable floating-point parameters"):
        filter_normalized_directions(nn.Linear(3, 2).requires_grad_(False))
    with pytest.raises(LandscapeError, match="run the model once"):
        filter_normalized_directions(nn.LazyLinear(3))
