"""The data of a surface: taken once, kept as they were, in whatever form loaders and models have them."""

# mypy: disable-error-code="misc"
# ruff: noqa: ARG002, ARG005, NPY002
from __future__ import annotations

import random
from collections import namedtuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from tests.landscape import zoo
from trackio_like.landscape import Evaluation, LandscapeError
from trackio_like.landscape.batches import freeze
from trackio_like.landscape.data import EvalData
from trackio_like.landscape.scoring import Scorer


def evaluated(model, batches, **options):
    evaluation = Evaluation(model, batches, **{"n": 3, "exact": True, **options})
    evaluation.run()
    return evaluation.result()


def data(num=10):
    return TensorDataset(torch.arange(float(num)).reshape(num, 1), torch.arange(num))


def test_only_as_many_batches_are_taken_as_are_wanted():
    taken = []

    class Loader:
        def __iter__(self):
            for i in range(100):
                taken.append(i)
                yield torch.zeros(2)

    assert len(freeze(Loader(), num_batches=3)) == 3
    assert taken == [0, 1, 2]


def test_a_loader_with_fewer_batches_gives_what_it_has():
    assert len(freeze([torch.zeros(2)], num_batches=8)) == 1


@pytest.mark.parametrize("num", [0, -1, 2.5, "8", True, None])
def test_a_number_of_batches_that_is_none_is_refused(num):
    with pytest.raises(LandscapeError, match="no number of batches"):
        freeze([torch.zeros(2)], num_batches=num)


def test_what_is_no_loader_says_so():
    with pytest.raises(LandscapeError, match="give a DataLoader or a list"):
        freeze(3, num_batches=1)
    with pytest.raises(LandscapeError, match="has no batch"):
        freeze([], num_batches=1)
    with pytest.raises(LandscapeError, match="training would miss"):
        freeze(iter([torch.zeros(2)]), num_batches=1)
    with pytest.raises(LandscapeError, match="training would miss"):
        freeze((batch for batch in [torch.zeros(2)]), num_batches=1)


def test_shuffling_draws_nothing_from_training():
    torch.manual_seed(0)
    loader = DataLoader(data(), batch_size=2, shuffle=True)
    before = torch.get_rng_state()
    freeze(loader, num_batches=2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("where", ["loader", "sampler"])
def test_a_generator_of_the_loaders_own_is_put_back(where):
    generator = torch.Generator().manual_seed(1)
    if where == "loader":
        loader = DataLoader(data(), batch_size=2, shuffle=True, generator=generator)
    else:
        loader = DataLoader(data(), batch_size=2, sampler=RandomSampler(data(), generator=generator))
    before = generator.get_state()
    freeze(loader, num_batches=2)
    assert torch.equal(generator.get_state(), before)


class Augmented(Dataset):
    """Draws from every kind of generator that people keep in a dataset."""

    def __init__(self):
        self.torch = torch.Generator().manual_seed(1)
        self.numpy = np.random.default_rng(1)
        self.old_numpy = np.random.RandomState(1)
        self.python = random.Random(1)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        own = self.numpy.random() + self.old_numpy.rand() + self.python.random()
        return torch.rand(1, generator=self.torch) + own + random.random() + np.random.rand() + torch.rand(1)


def test_generators_of_a_dataset_are_put_back():
    used, fresh = Augmented(), Augmented()
    freeze(DataLoader(used, batch_size=2), num_batches=2)
    assert torch.equal(used.torch.get_state(), fresh.torch.get_state())
    assert used.numpy.bit_generator.state == fresh.numpy.bit_generator.state
    assert used.python.getstate() == fresh.python.getstate()
    assert used.old_numpy.rand() == fresh.old_numpy.rand()


def test_a_loader_that_raises_leaves_the_random_numbers_alone():
    class Broken(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            torch.rand(1)
            random.random()
            if index == 2:
                raise OSError("disk")
            return torch.zeros(1)

    before = torch.get_rng_state(), random.getstate()
    with pytest.raises(OSError, match="disk"):
        freeze(DataLoader(Broken(), batch_size=1, shuffle=True), num_batches=4)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


def test_an_epoch_in_progress_goes_on_where_it_was():
    loader = DataLoader(data(8), batch_size=2)
    epoch = iter(loader)
    seen = [next(epoch)[1].tolist()]
    freeze(loader, num_batches=4)
    seen += [batch[1].tolist() for batch in epoch]
    assert seen == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_an_epoch_of_persistent_workers_goes_on_where_it_was():
    loader = DataLoader(data(8), batch_size=2, num_workers=1, persistent_workers=True)
    epoch = iter(loader)
    try:
        seen = [next(epoch)[1].tolist()]
        freeze(loader, num_batches=4)
        seen += [batch[1].tolist() for batch in epoch]
        assert seen == [[0, 1], [2, 3], [4, 5], [6, 7]]
        assert loader._iterator is epoch
    finally:
        epoch._shutdown_workers()


def test_an_iterable_dataset_is_read_anew():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(torch.arange(6.0))

    loader = DataLoader(Stream(), batch_size=2)
    assert torch.equal(freeze(loader, num_batches=1).items[0], torch.tensor([0.0, 1.0]))
    assert torch.equal(freeze(loader, num_batches=1).items[0], torch.tensor([0.0, 1.0]))


def test_frozen_batches_do_not_change_with_the_memory_that_they_came_from():
    shared = torch.zeros(2)
    array = np.zeros(2)

    class Refilling:
        def __iter__(self):
            for i in range(3):
                shared.fill_(i)
                array.fill(i)
                yield {"a": shared, "b": (array, "text", 3)}

    frozen = freeze(Refilling(), num_batches=3)
    assert [item["a"].tolist() for item in frozen.items] == [[0, 0], [1, 1], [2, 2]]
    assert [item["b"][0].tolist() for item in frozen.items] == [[0, 0], [1, 1], [2, 2]]
    assert frozen.items[0]["b"][1:] == ("text", 3)


def test_containers_keep_their_kind():
    Pair = namedtuple("Pair", "x y")
    frozen = freeze([Pair(torch.zeros(2), [torch.ones(1)])], num_batches=1)
    assert isinstance(frozen.items[0], Pair)
    assert isinstance(frozen.items[0].y, list)


def test_arrays_of_text_stay_what_they_are():
    frozen = freeze([{"x": torch.zeros(2), "names": np.array(["a", "b"])}], num_batches=1)
    assert frozen.items[0]["names"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int16, torch.bool]
)
def test_the_hash_tells_other_data_and_another_order_of_the_same(dtype):
    rows = torch.tensor([[0, 1], [1, 1]]).to(dtype)
    hashes = [freeze([batch], num_batches=1).sha256 for batch in (rows, rows.clone(), rows.flip(0), rows.reshape(4))]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_batches_of_an_earlier_evaluation_are_used_again():
    frozen = freeze(DataLoader(data(), batch_size=2, shuffle=True), num_batches=2)
    assert freeze(frozen, num_batches=99) is frozen


class InPlace(nn.Module):
    """Normalises its input where it lies, as image models do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x):
        x -= 0.5
        x /= 2
        return self.layer(x)


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_a_model_that_writes_to_its_input_sees_the_same_data_at_each_point(mode):
    torch.manual_seed(0)
    model, batch = InPlace(), (torch.randn(5, 6), torch.randint(0, 4, (5,)))
    frozen = freeze([batch, batch], num_batches=2)
    with torch.no_grad():
        expected = float(nn.functional.cross_entropy(model.layer((batch[0] - 0.5) / 2), batch[1]))
    for _ in range(2):
        found = evaluated(model, frozen, mode=mode)
        assert found.meta["mode"] == mode
        assert found.z_RC[1, 1] == pytest.approx(expected, rel=1e-6)
    assert torch.equal(frozen.items[0][0], batch[0])


def test_a_model_that_does_not_is_given_the_data_themselves():
    case = zoo.make("mlp")
    seen = set()

    def loss(model, batch):
        seen.add(batch[0].data_ptr())
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    frozen = freeze(case.batches, num_batches=99)
    evaluated(case.model, frozen, loss_fn=loss)
    assert {batch[0].data_ptr() for batch in frozen.items} <= seen


def test_trying_batch_sizes_keeps_one_copy_of_the_data_at_a_time():
    frozen = freeze([(torch.randn(8, 3, 4, 4), torch.zeros(8, dtype=torch.long)) for _ in range(4)], num_batches=4)
    eval_data = EvalData(frozen, Scorer(nn.Identity()), device=torch.device("cpu"))
    originals = {id(item[0].untyped_storage()) for item in frozen.items}
    for size in (None, 1, 4, 16):
        for channels_last in (False, True):
            pieces = eval_data.pieces(size, channels_last=channels_last)
            assert sum(piece.num_samples for piece in pieces) == 32
            assert len(pieces) == (4 if size is None else 32 // size)
            assert torch.equal(torch.cat([p.batch[0] for p in pieces]), torch.cat([i[0] for i in frozen.items]))
    assert len(eval_data._as_came) == 4
    assert eval_data._cut is not None
    assert eval_data._cut[0] == (16, True)
    assert originals == {id(piece.batch[0].untyped_storage()) for piece in eval_data.pieces()}


class Constant(nn.Module):
    """Gives its input, so that each batch's loss is what its data say; one parameter, to have a plane at all."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))

    def forward(self, x):
        return x


def centre_of(batches, **options):
    return evaluated(Constant(), batches, **options).z_RC[1, 1]


def test_a_short_last_batch_counts_by_its_samples():
    batches = [(torch.full((4, 1), 1.0), torch.zeros(4, 1)), (torch.full((1, 1), 3.0), torch.zeros(1, 1))]
    assert centre_of(batches, criterion=nn.MSELoss()) == pytest.approx((4 * 1 + 9) / 5)


def test_a_sum_over_samples_counts_each_batch_once():
    batches = [(torch.full((4, 1), 1.0), torch.zeros(4, 1)), (torch.full((1, 1), 3.0), torch.zeros(1, 1))]
    assert centre_of(batches, criterion=nn.MSELoss(reduction="sum")) == pytest.approx((4 + 9) / 2)


def test_targets_that_are_ignored_do_not_count():
    logits = torch.tensor([[2.0, 0.0]] * 4)
    batches = [
        (logits, torch.tensor([0, -100, -100, -100])),
        (logits, torch.tensor([1, 1, 1, -100])),
        (logits, torch.tensor([-100] * 4)),
    ]
    right, wrong = np.log1p(np.exp(-2)), np.log1p(np.exp(2))
    assert centre_of(batches) == pytest.approx((right + 3 * wrong) / 4)
    assert centre_of(batches, criterion=nn.CrossEntropyLoss()) == pytest.approx((right + 3 * wrong) / 4)


def test_another_ignored_target_is_the_criterions_own():
    logits = torch.tensor([[2.0, 0.0]] * 2)
    batches = [(logits, torch.tensor([0, 0])), (logits, torch.tensor([1, 0]))]
    right, wrong = np.log1p(np.exp(-2)), np.log1p(np.exp(2))
    assert centre_of(batches[1:], criterion=nn.CrossEntropyLoss(ignore_index=0)) == pytest.approx(wrong)
    assert centre_of(batches, criterion=nn.CrossEntropyLoss()) == pytest.approx((3 * right + wrong) / 4)


def test_data_of_which_nothing_counts_say_so():
    with pytest.raises(LandscapeError, match="all targets are ignored"):
        centre_of([(torch.zeros(2, 2), torch.tensor([-100, -100]))])


def test_class_weights_are_the_criterions_own_within_a_batch():
    logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    batches = [(logits, torch.tensor([0, 1, 1])), (logits[:1], torch.tensor([0]))]
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0]))
    expected = np.average([float(criterion(x, y)) for x, y in batches], weights=[3, 1])
    assert centre_of(batches, criterion=criterion) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("batches", "says"),
    [
        ([torch.zeros(2, 2)], "names no target"),
        ([(torch.zeros(2, 2), torch.zeros(2, 2))], "no class numbers"),
        ([(torch.zeros(2, 3, 2), torch.zeros(2, dtype=torch.long))], "cross entropy cannot be made"),
        ([(torch.zeros(2, 2), [1, 2])], "no class numbers"),
    ],
)
def test_what_no_loss_can_be_made_of_says_so(batches, says):
    with pytest.raises(LandscapeError, match=says):
        centre_of(batches)


def test_a_loss_that_is_not_one_number_says_so():
    batches = [(torch.zeros(2, 2), torch.zeros(2, 2))]
    with pytest.raises(LandscapeError, match="use reduction='mean'"):
        centre_of(batches, criterion=nn.MSELoss(reduction="none"))


def test_an_output_of_which_no_loss_can_be_made_says_so():
    class Odd(Constant):
        def forward(self, x):
            return "text"

    with pytest.raises(LandscapeError, match=r"gives a str, .* loss_fn"):
        evaluated(Odd(), [(torch.zeros(2, 2), torch.zeros(2, dtype=torch.long))])


def test_a_criterion_and_a_loss_function_are_not_given_both():
    with pytest.raises(LandscapeError, match="both given"):
        centre_of([torch.zeros(2)], criterion=nn.MSELoss(), loss_fn=lambda model, batch: torch.zeros(()))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_a_value(bad):
    batches = [(torch.tensor([[bad], [1.0]]), torch.zeros(2, 1))]
    z = centre_of(batches, criterion=nn.MSELoss())
    assert np.isnan(z) if np.isnan(bad) else np.isinf(z)
