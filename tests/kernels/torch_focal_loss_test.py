#!/usr/bin/env python3
"""torch.ops.harness.focal_loss: values, gradients, training and torch.compile. Usage: torch_library.py."""

import unittest
from pathlib import Path

from torch_library import LIBRARY, TYPES, assert_close, compiles, run_tests, torch, train_eager_and_compiled

CLASSES, ANCHORS = 7, 3
MAPS = [(6, 5), (3, 3), (1, 1)]
ROWS = sum(ANCHORS * h * w for h, w in MAPS)


def focal_problem(dtype=torch.float32, images=2):
    torch.manual_seed(3)
    levels = [
        torch.randn(images, ANCHORS * CLASSES, h, w).to(dtype, memory_format=torch.channels_last)
        for h, w in MAPS
    ]
    matched = [torch.randint(-8, 2, (ROWS,)).clamp_min(-1) for _ in range(images)]
    for ids in matched:
        ids[::11] = -2
    labels = [torch.randint(0, CLASSES, (2,)) for _ in range(images)]
    return [level.requires_grad_() for level in levels], matched, labels


def dense_loss(levels, matched, labels, alpha=0.25, gamma=2.0):
    """The formula over one-hot targets, in double precision."""
    rows = [level.double().permute(0, 2, 3, 1).reshape(len(matched), -1, CLASSES) for level in levels]
    total = 0
    for logits, ids, classes in zip(torch.cat(rows, 1), matched, labels):
        target = torch.zeros_like(logits)
        target[ids >= 0, classes[ids[ids >= 0]]] = 1
        p = logits.sigmoid()
        away = p * (1 - target) + (1 - p) * target
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        weight = alpha * target + (1 - alpha) * (1 - target)
        loss = (weight * away**gamma * entropy)[ids != -2].sum()
        total = total + loss / max(1, int((ids >= 0).sum()))
    return total / len(matched)


def focal_loss(levels, matched, labels, *factors):
    return torch.ops.harness.focal_loss(levels, CLASSES, matched, labels, *factors)


class FocalLoss(unittest.TestCase):
    def test_value_and_gradient(self):
        for dtype, tolerance in zip(TYPES, (4e-6, 2**-7)):
            for gamma in (2.0, 1.5):
                levels, matched, labels = focal_problem(dtype)
                loss = focal_loss(levels, matched, labels, 0.3, gamma)
                expected = dense_loss(levels, matched, labels, 0.3, gamma)
                self.assertEqual(loss.dtype, torch.float32)
                assert_close(loss.double(), expected, rtol=1e-6, atol=0)
                ours = torch.autograd.grad(3 * loss, levels)
                theirs = torch.autograd.grad(3 * expected, levels)
                for gradient, exact in zip(ours, theirs):
                    self.assertEqual(gradient.dtype, dtype)
                    assert_close(gradient.double(), exact.double(), rtol=tolerance, atol=1e-9)

    def test_defaults_and_inference(self):
        levels, matched, labels = focal_problem()
        expected = dense_loss(levels, matched, labels).detach()
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                loss = focal_loss(levels, matched, labels)
            self.assertFalse(loss.requires_grad)
            assert_close(loss.double(), expected, rtol=1e-6, atol=0)

    def test_only_the_levels_that_require_it_get_a_gradient(self):
        levels, matched, labels = focal_problem()
        expected = torch.autograd.grad(focal_loss(levels, matched, labels), levels)
        levels[1].requires_grad_(False)
        focal_loss(levels, matched, labels).backward()
        self.assertIsNone(levels[1].grad)
        for i in (0, 2):
            self.assertTrue(torch.equal(levels[i].grad, expected[i]))

    def test_bad_input_is_an_exception(self):
        levels, matched, labels = focal_problem()

        def refuses(message, *arguments, error=(ValueError, RuntimeError)):
            with self.assertRaisesRegex(error, message):
                focal_loss(*arguments)

        refuses("for each image", levels, matched[:1], labels)
        refuses("for each image", levels, matched, labels[:1])
        refuses("needs levels", [], matched, labels)
        refuses("needs levels", levels, [], [])
        refuses("matched id an anchor", levels[:2], matched, labels)
        refuses("head output", [levels[0][:, 1:], *levels[1:]], matched, labels)
        refuses("head output", [levels[0][0], *levels[1:]], matched, labels)
        refuses("not Double", [level.double() for level in levels], matched, labels)
        refuses("not Half", [level.half() for level in levels], matched, labels)
        refuses("int64", levels, [ids.int() for ids in matched], labels)
        refuses("int64", levels, matched, [ids.float() for ids in labels])
        refuses("one-dimensional", levels, matched, [ids[None] for ids in labels])
        refuses("one device", levels, [ids.to("meta") for ids in matched], labels)
        refuses("one device", [levels[0].to("meta"), *levels[1:]], matched, labels)
        refuses("Sparse", [level.detach().to_sparse() for level in levels], matched, labels)
        for wrong in (-1, CLASSES, 2**62):
            refuses("label is not from 0 to 6", levels, matched, [torch.full((2,), wrong)] * 2)
        refuses("beyond the image's boxes", levels, [torch.full((ROWS,), 2**62)] * 2, labels)
        refuses("gamma", levels, matched, labels, 0.25, -1.0)
        refuses("alpha", levels, matched, labels, float("nan"))
        with self.assertRaisesRegex(ValueError, "classes"):
            torch.ops.harness.focal_loss(levels, 0, matched, labels)
        with self.assertRaisesRegex(ValueError, "level for each gradient"):
            torch.ops.harness.focal_loss_forward(levels, CLASSES, matched, labels, 0.25, 2.0, [True])
        loss = focal_loss(levels, matched, labels)
        with self.assertRaisesRegex(RuntimeError, "no second derivative"):
            torch.autograd.grad(loss, levels, create_graph=True)
        loss.backward()
        with self.assertRaisesRegex(RuntimeError, "second time"):
            loss.backward()

    @compiles
    def test_compiled(self):
        def scaled(levels, matched, labels):
            return 3 * focal_loss([level * 2 for level in levels], matched, labels)

        for options in ({"backend": "aot_eager"}, {"backend": "inductor"}, {"dynamic": True}):
            compiled = torch.compile(scaled, fullgraph=True, **options)
            for dtype in TYPES:
                problem = focal_problem(dtype)
                expected = scaled(*problem)
                loss = compiled(*problem)
                assert_close(loss, expected, rtol=1e-6, atol=0)
                ours = torch.autograd.grad(loss, problem[0])
                theirs = torch.autograd.grad(expected, problem[0])
                for gradient, exact in zip(ours, theirs):
                    assert_close(gradient, exact, rtol=1e-6 if dtype == torch.float32 else 2**-7, atol=0)

    @compiles
    def test_trains_also_when_compiled(self):
        def step(head, images, matched, labels):
            return focal_loss([head(image) for image in images], matched, labels)

        _, matched, labels = focal_problem()
        images = [torch.randn(2, 4, h, w).to(memory_format=torch.channels_last) for h, w in MAPS]

        def make_parameters():
            self.head = torch.nn.Conv2d(4, ANCHORS * CLASSES, 1).to(memory_format=torch.channels_last)
            return self.head.parameters()

        train_eager_and_compiled(self, make_parameters, lambda function: function(self.head, images, matched, labels), step)

    def test_registration(self):
        levels, matched, labels = focal_problem()
        torch.library.opcheck(torch.ops.harness.focal_loss.default, (levels, CLASSES, matched, labels))
        torch.library.opcheck(
            torch.ops.harness.focal_loss_forward.default,
            ([level.detach() for level in levels], CLASSES, matched, labels, 0.25, 2.0, [True, False, True]),
        )


class Documentation(unittest.TestCase):
    def test_the_pages_example_runs(self):
        text = (Path(__file__).resolve().parents[2] / "docs/kernels-from-pytorch.md").read_text()
        example = text.split("```python\n")[1].split("```")[0]
        self.assertIn("build/release/libharness_ops.so", example)
        names = {}
        exec(example.replace("build/release/libharness_ops.so", str(LIBRARY)), names)
        for level in names["levels"]:
            self.assertGreater(level.grad.abs().sum().item(), 0)


if __name__ == "__main__":
    run_tests()
