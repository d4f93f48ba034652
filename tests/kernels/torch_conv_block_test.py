#!/usr/bin/env python3
"""torch.ops.harness.conv_block: values, gradients, training and torch.compile. Usage: torch_library.py."""

import unittest

from torch_library import TYPES, compiles, run_tests, torch, train_eager_and_compiled

# channels in and out, kernel, stride, groups, bias, norm, relu, residual
BLOCKS = [
    (16, 24, 3, 1, 1, True, False, True, False),  # a head's tower
    (8, 12, 1, 1, 1, False, True, True, True),  # the end of a bottleneck
    (32, 32, 3, 2, 4, False, True, True, False),  # ResNeXt's grouped one
    (3, 16, 7, 2, 1, False, True, False, False),
    (16, 7, 3, 1, 1, False, False, False, True),
]


def conv_problem(block, dtype=torch.float32):
    inputs, outputs, kernel, stride, groups, bias, norm, relu, residual = block
    torch.manual_seed(4)

    def leaf(*shape):  # of values that bf16 has too
        return torch.randn(*shape).bfloat16().float().requires_grad_()

    tensors = {
        "input": leaf(2, inputs, 9, 7).detach().to(dtype).requires_grad_(),
        "weight": leaf(outputs, inputs // groups, kernel, kernel),
        "bias": leaf(outputs) if bias else None,
        "residual": leaf(2, outputs, (8 + stride) // stride, (6 + stride) // stride).detach().to(dtype).requires_grad_()
        if residual
        else None,
        "norm": [leaf(outputs).detach().abs() + 0.5 for _ in range(4)] if norm else [],
    }
    return tensors, {"stride": stride, "padding": kernel // 2, "groups": groups, "relu": relu}


def conv_block(tensors, options):
    return torch.ops.harness.conv_block(**tensors, **options)


def composition(tensors, options, dtype=torch.float64):
    """PyTorch's own operators, in double precision unless told otherwise."""
    cast = {name: t.to(dtype) for name, t in tensors.items() if torch.is_tensor(t)}
    where = [options[name] for name in ("stride", "padding")]
    out = torch.conv2d(cast["input"], cast["weight"], cast.get("bias"), *where, 1, options["groups"])
    if tensors["norm"]:
        weight, bias, mean, var = (t.to(dtype)[:, None, None] for t in tensors["norm"])
        out = (out - mean) * weight / (var + 1e-5).sqrt() + bias
    if "residual" in cast:
        out = out + cast["residual"]
    return out.relu() if options["relu"] else out


def trainable(tensors):
    return [t for t in tensors.values() if torch.is_tensor(t) and t.requires_grad]


class ConvBlock(unittest.TestCase):
    def near(self, actual, exact, tolerance):
        error = (actual.double() - exact.double()).norm() / exact.double().norm()
        self.assertLess(error.item(), tolerance)

    def test_values_and_gradients(self):
        for dtype, tolerance in zip(TYPES, (2e-6, 2**-7)):
            for block in BLOCKS:
                tensors, options = conv_problem(block, dtype)
                out = conv_block(tensors, options)
                self.assertEqual(out.dtype, dtype)
                self.assertTrue(out.is_contiguous(memory_format=torch.channels_last))
                self.near(out, composition(tensors, options), tolerance)
                upstream = torch.randn_like(out)
                # Where bf16 rounds an output to 0 or away from it, the masks differ: ours decides.
                unmasked = composition(tensors, options | {"relu": False})
                mask = out > 0 if options["relu"] else torch.ones_like(out)
                theirs = torch.autograd.grad(unmasked, trainable(tensors), upstream.double() * mask)
                ours = torch.autograd.grad(out, trainable(tensors), upstream)
                for gradient, exact, tensor in zip(ours, theirs, trainable(tensors)):
                    self.assertEqual(gradient.dtype, tensor.dtype)
                    self.near(gradient, exact, tolerance)

    def test_only_what_requires_it_gets_a_gradient(self):
        for block in BLOCKS:
            names = [name for name, t in conv_problem(block)[0].items() if torch.is_tensor(t)]
            for name in names:
                tensors, options = conv_problem(block)
                (expected,) = torch.autograd.grad(composition(tensors, options).sum(), tensors[name])
                for other in names:
                    tensors[other].requires_grad_(other == name)
                conv_block(tensors, options).sum().backward()
                self.near(tensors[name].grad, expected, 1e-6)
                self.assertTrue(all(tensors[other].grad is None for other in names if other != name))

    def test_parameters_that_change_unseen(self):
        tensors, options = conv_problem(BLOCKS[1])
        for mode in (torch.no_grad, torch.inference_mode):
            for name in ("weight", "norm"):
                with mode():
                    conv_block(tensors, options)
                for t in tensors["norm"] if name == "norm" else [tensors["weight"]]:
                    t.data.mul_(2)
                with mode():
                    self.near(conv_block(tensors, options), composition(tensors, options), 2e-6)
        with torch.inference_mode():
            tensors, options = conv_problem(BLOCKS[1])
            self.near(conv_block(tensors, options), composition(tensors, options), 2e-6)

    def test_autocast(self):
        tensors, options = conv_problem(BLOCKS[1])
        with torch.autocast("cpu", torch.bfloat16):
            out = conv_block(tensors, options)
        self.assertEqual(out.dtype, torch.bfloat16)
        self.near(out, composition(tensors, options), 2**-7)
        for gradient in torch.autograd.grad(out.sum(), trainable(tensors)):
            self.assertEqual(gradient.dtype, torch.float32)

    def test_bad_input_is_an_exception(self):
        def refuses(message, **changes):
            tensors, options = conv_problem(BLOCKS[2])
            for name, change in changes.items():
                group = tensors if name in tensors else options
                group[name] = change(group[name]) if callable(change) else change
            with self.assertRaisesRegex((ValueError, RuntimeError), message):
                conv_block(tensors, options)

        refuses("not Double", input=lambda t: t.double())
        refuses("not BFloat16", weight=lambda t: t.bfloat16())
        refuses("needs an input", input=lambda t: t[0])
        refuses("needs an input", input=lambda t: t[:, :16])
        refuses("needs an input", weight=lambda t: t[:31])
        refuses("needs an input", groups=0)
        refuses("stride", stride=0)
        refuses("stride", stride=2**62)
        refuses("padding", padding=-1)
        refuses("larger than the input", padding=0, input=lambda t: t[:, :, :2])
        refuses("an empty tensor", input=lambda t: t[:0])
        refuses("a norm is", norm=lambda n: n[:3])
        refuses("a norm has", norm=lambda n: [t[:31] for t in n])
        refuses("a norm has", norm=lambda n: [t.double() for t in n])
        refuses("a norm has", norm=lambda n: [t.to("meta") for t in n])
        refuses("must not require", norm=lambda n: [t.requires_grad_() for t in n])
        refuses("not both", bias=torch.zeros(32))
        refuses("the bias has", norm=[], bias=torch.zeros(31))
        refuses("the residual has", residual=torch.zeros(2, 32, 9, 7))
        refuses("the residual has", residual=torch.zeros(2, 32, 5, 4).double())
        refuses("one device", residual=torch.zeros(2, 32, 5, 4, device="meta"))
        refuses("one device", input=lambda t: t.to("meta"))
        tensors, options = conv_problem(BLOCKS[2])
        out = conv_block(tensors, options)
        with self.assertRaisesRegex(RuntimeError, "no second derivative"):
            torch.autograd.grad(out.sum(), tensors["weight"], create_graph=True)
        arguments = (tensors["weight"], None, [], 1e-5, 2, 1, 4, [True, True, False])
        with self.assertRaisesRegex(ValueError, "do not belong together"):
            torch.ops.harness.conv_block_backward(out[:, :, 1:], tensors["input"], [2, 32, 9, 7], *arguments)
        with self.assertRaisesRegex(ValueError, "do not belong together"):
            torch.ops.harness.conv_block_backward(out, None, [2, 32, 9, 7], *arguments)

    @compiles
    def test_compiled(self):
        for options_of_compile in ({"backend": "aot_eager"}, {}, {"dynamic": True}):
            compiled = torch.compile(conv_block, fullgraph=True, **options_of_compile)
            for block, dtype in ((BLOCKS[1], TYPES[0]), (BLOCKS[2], TYPES[1])):
                tensors, options = conv_problem(block, dtype)
                expected = conv_block(tensors, options)
                out = compiled(tensors, options)
                self.near(out, expected, 1e-6)
                upstream = torch.randn_like(out)
                ours = torch.autograd.grad(out, trainable(tensors), upstream)
                for gradient, exact in zip(ours, torch.autograd.grad(expected, trainable(tensors), upstream)):
                    self.near(gradient, exact, 1e-6)

    @compiles
    def test_trains_also_when_compiled(self):
        def step(image, weights, norm):
            for weight in weights:
                image = torch.ops.harness.conv_block(image, weight, None, norm, padding=1, relu=True)
            return (image.mean((2, 3)) - 1).square().mean()

        image = torch.randn(2, 8, 6, 6)
        norm = [torch.ones(8), torch.zeros(8), torch.zeros(8), torch.ones(8)]

        def make_parameters():
            self.weights = [(torch.randn(8, 8, 3, 3) / 8).requires_grad_() for _ in range(2)]
            return self.weights

        train_eager_and_compiled(self, make_parameters, lambda function: function(image, self.weights, norm), step)

    def test_registration(self):
        for block in BLOCKS[1:3]:
            tensors, options = conv_problem(block)
            torch.library.opcheck(torch.ops.harness.conv_block.default, (), tensors | options)
        tensors, options = conv_problem(BLOCKS[2])
        image, weight = (tensors[name].detach() for name in ("input", "weight"))
        shared = (tensors["norm"], 1e-5, 2, 1, 4)
        out = torch.ops.harness.conv_block_forward(image, weight, None, *shared, True, None)
        torch.library.opcheck(torch.ops.harness.conv_block_forward.default, (image, weight, None, *shared, True, None))
        for wanted in ([True, True, False], [False, True, True]):
            arguments = (torch.randn_like(out), image, list(image.shape), weight, out, *shared, wanted)
            torch.library.opcheck(torch.ops.harness.conv_block_backward.default, arguments)


if __name__ == "__main__":
    run_tests()
