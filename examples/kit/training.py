"""The training loop of all examples: steps, evaluation, checkpoints, summary, pictures."""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import vkml
from kit import pictures, saved, summary
from kit.attributed import Attributed
from kit.progress import bar, differences, say, told
from kit.task import Evaluation, Task
from kit.twin import Twin
from vkml import nn

COMPARED = (
    "{steps} steps beside {library}: losses at most {largest_loss_difference:.2e} apart, "
    "{mean_loss_difference:.2e} on average"
)


class Run:
    """One run of a task: what is trained, how far it is, and PyTorch's twin if asked for."""

    def __init__(self, task: Task, args: argparse.Namespace, device: str) -> None:
        self.task, self.args = task, args
        vkml.manual_seed(args.seed)
        self.model: nn.Module = task.build(vkml).to(device)
        self.optimizer = task.optimizer(vkml, self.model.parameters())
        self.progress = saved.Progress()
        if args.resume:
            self.progress = saved.resume(args.resume, task, self.model, self.optimizer)
            say("resumed", f"{args.resume}: after {len(self.progress.losses)} steps")
        self.twin = Twin(task, self.model, self.optimizer) if args.compare else None
        self.attributed = Attributed(args.attribute, device)

    def step(self, x: vkml.Tensor, y: vkml.Tensor) -> float:
        """Forward, backward, update: they are one submission, made when the loss is read."""
        loss = self.task.loss(vkml, self.model, x, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.item())

    def epoch(self, number: int) -> None:
        """Train on all batches that are left of an epoch, then evaluate."""
        losses, batches = self.progress.losses, self.task.batches
        start, end = time.perf_counter(), number * len(batches)
        for x, y in bar(batches, len(batches), number):
            losses.append(self.step(x, y))
            self.attributed.stepped()
            if self.twin:
                self.twin.step(x, y)
            if self.args.every and len(losses) % self.args.every == 0 and len(losses) < end:
                self.save()
        seconds = time.perf_counter() - start
        self.finish(number, losses[end - len(batches) :], seconds, self.evaluate())

    def evaluate(self) -> Evaluation:
        """Evaluate the model as it is."""
        self.model.eval()
        with vkml.no_grad():
            found = self.task.evaluate(vkml, self.model, self.task.tests)
        self.model.train()
        return found

    def finish(
        self, number: int, losses: list[float], seconds: float, evaluation: Evaluation
    ) -> None:
        """Note and say what an epoch came to, and save it."""
        loss = statistics.fmean(losses)
        entry: dict[str, Any] = {"epoch": number, "loss": loss, **evaluation.measures}
        say(f"epoch {number}", f"loss {loss:.4f}  {told(evaluation)}  {seconds:.1f} s")
        if self.twin:
            theirs = self.twin.evaluate()
            mean = statistics.fmean(self.twin.losses[-len(losses) :])
            entry["torch"] = {"loss": mean, **theirs.measures}
            say("  torch", f"loss {mean:.4f}  {differences(evaluation, theirs)}")
        self.progress.epochs.append(entry | {"seconds": round(seconds, 3)})
        self.save()

    def save(self) -> None:
        """Write the checkpoint, if one was asked for."""
        if self.args.checkpoint:
            saved.save(self.args.checkpoint, self.task, self.model, self.optimizer, self.progress)


def train(task: Task, args: argparse.Namespace, device: str, why: str) -> dict[str, Any]:
    """Train a task as the options ask; say what happens; give the summary."""
    say("device", f"{device}: {why}")
    with vkml.eager_mode(args.eager):
        run = Run(task, args, device)
        try:
            for number in range(len(run.progress.epochs) + 1, args.epochs + 1):
                run.epoch(number)
        finally:
            run.attributed.close()
        found = _summary(run, device, why)
        if task.show:
            found |= task.show(run.model)
        if args.pictures:
            _draw(run, found)
    if args.json:
        summary.write(args.json, found)
    return found


def _summary(run: Run, device: str, why: str) -> dict[str, Any]:
    digest = summary.weights_sha256(run.model)
    say("weights", digest)
    found = {
        **run.task.facts,
        "device": device,
        "device_reason": why,
        "eager": run.args.eager,
        "steps": len(run.progress.losses),
        "epochs": run.progress.epochs,
        "weights_sha256": digest,
        "versions": summary.versions(),
    }
    found |= run.attributed.summary()
    if run.twin and run.twin.losses:
        found["compare"] = run.twin.summary(run.progress.losses)
        say("compare", COMPARED.format(**found["compare"]))
    return found


def _draw(run: Run, found: dict[str, Any]) -> None:
    folder, title = run.args.pictures, f"{found['dataset']} on {found['device']}"
    folder.mkdir(parents=True, exist_ok=True)
    twin = run.twin.losses if run.twin else []
    pictures.loss_curve(
        folder / "loss.png", title, run.progress.losses, twin, found.get("baseline")
    )
    say("picture", folder / "loss.png")
    run.attributed.draw(folder)
    confusion = run.evaluate().confusion
    if confusion is not None:
        path = folder / "confusion.png"
        pictures.confusion_matrix(path, title, confusion, run.task.class_names)
        say("picture", path)
