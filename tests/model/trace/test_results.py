"""Remembered results are those that torch gives."""

import pytest
import torch

from trackio_like.model.trace.results import Results

aten = torch.ops.aten


def meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


CALLS = [
    (aten.add.Tensor, (meta(3, 1), meta(4)), {}),
    (aten.mul.Scalar, (meta(3, dtype=torch.int64), 1), {}),
    (aten.mul.Scalar, (meta(3, dtype=torch.int64), 1.0), {}),
    (aten.mul.Scalar, (meta(3, dtype=torch.bool), True), {}),
    (aten.mul.Scalar, (meta(3, dtype=torch.bool), 1), {}),
    (aten.sum.dim_IntList, (meta(3, 4), [1]), {}),
    (aten.sum.dim_IntList, (meta(3, 4), [1]), {"dtype": torch.float64}),
    (aten.sum.dim_IntList, (meta(3, 4), [1], True), {}),
    (aten.cat.default, ([meta(3, 4), meta(2, 4)],), {}),
    (aten.relu.default, (meta(4, 3).t(),), {}),
    (aten.relu.default, (meta(3, 4),), {}),
    (aten.native_layer_norm.default, (meta(3, 4), [4], None, None, 1e-5), {}),
]


def told(result):
    if isinstance(result, torch.Tensor):
        return (result.shape, result.stride(), result.dtype, result.device.type)
    return [told(each) for each in result]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_the_second_answer_is_the_first_and_what_torch_says(number):
    results = Results()
    for func, args, kwargs in CALLS:
        results.give(func, args, kwargs)
    func, args, kwargs = CALLS[number]
    first, second = (results.give(func, args, kwargs) for _ in range(2))
    assert told(first) == told(second) == told(func(*args, **kwargs))


def test_each_answer_is_a_tensor_of_its_own():
    results, x = Results(), meta(3)
    answers = [results.give(aten.relu.default, (x,), {}).untyped_storage() for _ in range(3)]
    assert len({storage._cdata for storage in answers}) == 3
