"""`Evaluation`: a landscape from a model and its data, begun, watched, and interrupted at any point."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from trackio_like.landscape.axes import axis
from trackio_like.landscape.batches import Batches, freeze
from trackio_like.landscape.data import EvalData
from trackio_like.landscape.errors import TimeIsUpError
from trackio_like.landscape.evaluator import Evaluator, Point, threads_set
from trackio_like.landscape.measuring import LocalSource, Source
from trackio_like.landscape.memory import forward_memory
from trackio_like.landscape.nested import Cell, Cells
from trackio_like.landscape.options import Options
from trackio_like.landscape.plan import Needs, SerialPlan, Way, chosen_chunk, serial_plan, vector_ways
from trackio_like.landscape.plane import Plane, weights_of
from trackio_like.landscape.planes import make_plane
from trackio_like.landscape.ranks import Team
from trackio_like.landscape.refine import refine
from trackio_like.landscape.result import LossLandscape
from trackio_like.landscape.scoring import Scorer, precision_of
from trackio_like.landscape.surface import fill
from trackio_like.landscape.tune import Choice, Limits, choose_serial, describe, try_vector
from trackio_like.landscape.weights import Weight, unwrapped
from trackio_like.landscape.workers import Workers, affordable, check_workers
from trackio_like.module_state.keeping import Lent, kept

if TYPE_CHECKING:
    from torch import nn

Progress = Callable[[int, int], None]
"""Told how many points are measured, and how many are planned."""

_TRIAL_SHARE: Final = 0.25
"""So much of a time limit may go into trials."""
_FAR: Final = 0.5
"""Where ways are compared: half-way to the corner of the plane."""


class Evaluation:
    """One landscape: `run()` it, then ask for its `result()`, also where the run was interrupted."""

    def __init__(
        self, model: nn.Module, loader: Any, *, nbatches: int = 8, on_progress: Progress | None = None, **options: Any
    ) -> None:
        """Checks what can be checked before the model is touched, and takes the batches.

        Args:
            model: a torch module; what compiles or distributes it is taken off.
            loader: batches, or those of an earlier evaluation.
            nbatches: how many batches to take of a loader.
            on_progress: told how many points are measured and planned.
            **options: as `Options`.

        Raises:
            LandscapeError: an option, the model or the loader cannot be used.
        """
        self.options = Options(**options)
        self.model = unwrapped(model)
        self.batches: Batches = freeze(loader, num_batches=nbatches)
        self._on_progress = on_progress or (lambda _measured, _planned: None)
        self._plane: Plane | None = None
        self._cells: Cells | None = None
        self._num_planned = 0
        self._meta: dict[str, Any] = {}
        self._choice = Choice(way=Way())
        self._started_s = 0.0

    def run(self) -> None:
        """Measures until the error is within the tolerance, and puts the model back as it was.

        Raises:
            LandscapeError: the model or its data cannot be evaluated; nothing was changed.
        """
        options = self.options
        self._started_s = time.monotonic()
        deadline_s = None if options.time_limit_s is None else self._started_s + options.time_limit_s
        weights = weights_of(self.model, options)
        scorer = Scorer(self.model, criterion=options.criterion, loss_fn=options.loss_fn)
        check_workers(options.workers, self.model)
        written = [weight.tensor for weight in weights]
        team = Team.gather(self.model, self.batches, options)
        self.batches = team.batches
        try:
            with (
                threads_set(1 if options.workers else None),  # each process has one: they are as many as are wanted
                team.buffers_shared(self.model),
                kept(scorer, written=written, keeps_hooks=options.keep_hooks) as lent,
            ):
                self._meta["num_hooks_off"] = lent.num_hooks_off
                self._run(scorer, weights, lent, deadline_s, team)
        finally:
            team.end()
            self._meta = team.meta | self._meta
            self._meta["seconds"] = round(time.monotonic() - self._started_s, 3)

    def _run(self, scorer: Scorer, weights: Sequence[Weight], lent: Lent, deadline_s: float | None, team: Team) -> None:
        options = self.options
        device = weights[0].tensor.device
        data = EvalData(self.batches, scorer, device=device, may_cut=options.bn == "eval")
        self._plane = plane = team.plane(
            lambda: make_plane(self.model, tuple(weights), options, scorer=scorer, data=data),
            weights, is_computed=options.directions in ("hessian", "trajectory"),
        )  # fmt: skip
        self._cells = cells = self._grid(plane)
        plan, needs = self._plan(scorer, data, plane, device)
        centre = self._centre(plane, weights, lent, device)
        evaluator = Evaluator(
            scorer, data, plane.weights, (plane.x, plane.y), centre=centre, keeps_directions=plan.keeps_directions,
            bn=options.bn, precision=options.precision, start_anew=lent.start_anew,
        )  # fmt: skip
        self._choice = team.choose(lambda: self._choose(evaluator, plan, needs, cells), plane, cells)
        data.forget_all_but(self._choice.way.batch_size, channels_last=self._choice.way.channels_last)
        self._describe(evaluator, device, data, scorer)
        local = LocalSource(evaluator, self._choice, plan.way, deadline_s=deadline_s)
        ending = team.follow(local, cells)
        if ending is not None:
            self._cells = ending.cells
            self._meta |= ending.meta
            return
        num_workers = self._num_workers(evaluator, plan, needs, is_shared=team.is_shared)
        try:
            with Workers(local, num_workers) as workers:
                self._refine(team.source(local) if team.is_shared else workers, cells, local)
        except TimeIsUpError:
            self._meta["stopped"] = f"the time limit of {options.time_limit_s:g} s was reached"
        team.finish(cells, self._meta)

    # -- the parts of a run --------------------------------------------------------------------------------------

    def _refine(self, source: Source, cells: Cells, local: LocalSource) -> None:
        options = self.options
        deadline_s, local.deadline_s = local.deadline_s, None  # θ itself is measured, however late it is
        self._measure_centre(source, cells)
        local.deadline_s = deadline_s
        estimate = refine(
            cells,
            lambda found: self._measure(source, cells, found),
            tolerance=options.tolerance,
            exact=options.exact,
            seed=options.seed,
            on_plan=self._planned,
        )
        self._meta["error_estimate"] = estimate.error

    def _num_workers(self, evaluator: Evaluator, plan: SerialPlan, needs: Needs, *, is_shared: bool) -> int:
        wanted, way = self.options.workers, self._choice.way
        if wanted and is_shared:
            self._choice.notes.append("the ranks of the job share the points, so no workers were started")
        if not wanted or is_shared:
            return 0
        products = evaluator.first_layers(way).num_bytes if way.first_layer else 0
        num = affordable(
            wanted, needs, way, keeps_directions=plan.keeps_directions, product_bytes=products,
            budget_bytes=self.options.memory_budget,
        )  # fmt: skip
        if num < wanted:
            self._choice.notes.append(f"{num} of {wanted} workers fit the memory budget")
        self._meta["workers"] = num
        return num

    def _grid(self, plane: Plane) -> Cells:
        options = self.options
        x_C = axis(options.n, options.x_range or plane.x_range, knots=plane.knots)
        is_line = options.line
        y_R = np.zeros(1) if is_line else axis(options.n, options.y_range or plane.y_range, knots=(0.0,))
        return Cells.empty(x_C, y_R)

    def _plan(self, scorer: Scorer, data: EvalData, plane: Plane, device: torch.device) -> tuple[SerialPlan, Needs]:
        with precision_of(device, self.options.precision):
            forward = forward_memory(scorer, data)
        moved = [weight.tensor for weight in plane.weights]
        wide_bytes = [tensor.numel() * max(4, tensor.element_size()) for tensor in moved]
        is_same_memory = device.type == "cpu"
        buffers = sum(buffer.nbytes for buffer in self.model.buffers())
        needs = Needs(
            moved_bytes=sum(tensor.nbytes for tensor in moved),
            direction_bytes=sum(wide_bytes),
            forward_fixed_bytes=forward.fixed_bytes,
            forward_bytes_per_sample=forward.bytes_per_sample,
            largest_weight_bytes=max(wide_bytes),
            backup_bytes=sum(tensor.nbytes for tensor in moved) + buffers * (2 if is_same_memory else 1),
            data_bytes=data.num_bytes,
            largest_batch=data.largest_batch,
        )
        plan = serial_plan(
            needs,
            budget_bytes=self.options.memory_budget,
            is_cuttable=data.is_cuttable,
            num_samples=data.num_samples,
        )
        return plan, needs

    @staticmethod
    def _centre(plane: Plane, weights: Sequence[Weight], lent: Lent, device: torch.device) -> list[torch.Tensor]:
        """The backup itself where it is in the same memory; on other devices copies beside the model."""
        copies = {id(weight): bits for weight, bits in zip(weights, lent.backup, strict=True)}
        return [copies[id(weight)].to(device) for weight in plane.weights]

    def _choose(self, evaluator: Evaluator, plan: SerialPlan, needs: Needs, cells: Cells) -> Choice:
        options = self.options
        num_points = cells.z_RC.size
        chunk = chosen_chunk(needs, chunk=options.chunk, parallel=options.parallel, num_points=num_points)
        far = (_FAR * float(cells.x_C[-1]), _FAR * float(cells.y_R[-1]))
        must = options.mode == "vector" or (chunk is not None and options.mode != "serial")
        limits = Limits(
            far=far,
            max_batch=plan.max_batch,
            spare_bytes=lambda way: options.memory_budget - needs.of(way, keeps_directions=plan.keeps_directions),
            until_s=None if options.time_limit_s is None else self._started_s + _TRIAL_SHARE * options.time_limit_s,
        )
        # What is not used need not be tried.
        tuner, choice = choose_serial(evaluator, plan.way, limits, num_points=0 if must else num_points)
        if options.mode == "serial":
            return choice
        why_not = self._why_not_vector(plan)
        if why_not:
            choice.notes.append(f"vector mode cannot be used: {why_not}")
            return choice
        if chunk is not None:
            ways = [Way(mode="vector", chunk=chunk, batch_size=choice.way.batch_size)]
        else:
            ways = vector_ways(needs, choice.way, budget_bytes=options.memory_budget, most=num_points)
            if not ways and must:
                choice.notes.append("vector mode cannot be used: one point does not fit the memory budget")
        return try_vector(tuner, choice, limits, evaluator=evaluator, ways=ways, must=must)

    def _why_not_vector(self, plan: SerialPlan) -> str:
        if self.options.bn == "recalibrate":
            return "batch norm statistics are taken anew at each point"
        if not plan.keeps_directions:
            return "the directions do not fit the memory budget"
        names: dict[tuple[int, int], set[int]] = {}
        for _, parameter in self.model.named_parameters(remove_duplicate=False):
            names.setdefault((parameter.untyped_storage().data_ptr(), parameter.storage_offset()), set()).add(
                id(parameter)
            )
        if any(len(ids) > 1 for ids in names.values()):
            return "several parameters share memory without being the same one"
        return ""

    def _measure_centre(self, source: Source, cells: Cells) -> None:
        """θ itself first: a point of the grid where both axes have 0."""
        rows, cols = np.flatnonzero(cells.y_R == 0), np.flatnonzero(cells.x_C == 0)
        losses: list[float] = []
        source.measure([(0.0, 0.0)], lambda _, loss: losses.append(loss))
        self._meta["loss_at_center"] = losses[0]
        if len(rows) and len(cols):
            cells.store((int(rows[0]), int(cols[0])), losses[0])

    def _measure(self, source: Source, cells: Cells, found: Sequence[Cell]) -> None:
        points: list[Point] = [(float(cells.x_C[col]), float(cells.y_R[row])) for row, col in found]
        num_before = int(cells.is_measured_RC.sum())
        num_stored = 0

        def stored(number: int, loss: float) -> None:
            nonlocal num_stored
            cells.store(found[number], loss)
            num_stored += 1
            self._on_progress(num_before + num_stored, self._num_planned)

        source.measure(points, stored)

    def _planned(self, num_cells: int) -> None:
        self._num_planned = num_cells

    def _describe(self, evaluator: Evaluator, device: torch.device, data: EvalData, scorer: Scorer) -> None:
        self._meta |= {
            "device": _name_of(device),
            "dtype": ", ".join(evaluator.dtype_names),
            "precision": self.options.precision or "the model's",
            "bn": self.options.bn,
            "criterion": scorer.criterion_name,
            "num_batches": len(self.batches),
            "num_samples": data.num_samples,
            "batches_sha256": self.batches.sha256,
            "num_moved": evaluator.num_moved,
            "torch": torch.__version__,
        }

    # -- what came of it -----------------------------------------------------------------------------------------

    def result(self) -> LossLandscape | None:
        """The landscape as far as it is known; None where nothing was measured."""
        cells, plane = self._cells, self._plane
        if cells is None or plane is None or not cells.is_measured_RC.any():
            return None
        surface = fill(cells)
        return LossLandscape(
            x_C=cells.x_C,
            y_R=cells.y_R,
            z_RC=surface.z_RC,
            is_measured_RC=cells.is_measured_RC.copy(),
            is_known_RC=surface.is_known_RC,
            x_label=plane.x.label,
            y_label=plane.y.label,
            marks=plane.marks,
            path=plane.path,
            meta=self._all_meta(surface.estimate.error),
        )

    def _all_meta(self, error: float | None) -> dict[str, Any]:
        choice, options = self._choice, self.options
        is_complete = "error_estimate" in self._meta
        timings = {f"{mode}_ms_per_point": round(1e3 * s, 4) for mode, s in choice.seconds_per_point.items()}
        return {
            "mode": choice.way.mode,
            "chunk": choice.way.chunk,
            "way": describe(choice.way),
            **({"notes": list(choice.notes)} if choice.notes else {}),
            **timings,
            **(self._plane.meta if self._plane else {}),
            **self._meta,
            "error_estimate": self._meta.get("error_estimate", error),
            "tolerance": options.tolerance,
            "is_exact": options.exact,
            "is_complete": is_complete,
        }


def _name_of(device: torch.device) -> str:
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


__all__ = ["Evaluation", "Progress"]
