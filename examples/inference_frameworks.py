"""Frameworks that answer queries of a task: each is a class whose instances take a list of loaded samples and give
their answers. Settings are those that the framework's own guides recommend for one query at a time on a CPU."""

import contextlib
import logging
import math
import os
import tempfile
import warnings
from pathlib import Path

import torch
from torch import nn

from inference_tasks import PeerError


class Eager:
    """The modules as they are; pictures with their channels last. With bf16 all but the norms is converted once, which
    autocast would do at each query."""

    def __init__(self, task, options):
        self.task = task
        self.dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
        self.model = task.model.to(memory_format=torch.channels_last)
        for module in self.model.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear, nn.Embedding)):
                module.to(self.dtype)

    @property
    def name(self):
        return f"eager PyTorch {torch.__version__}"

    def hold(self, loaded):
        """Loaded samples as this framework likes them in memory."""
        last = torch.channels_last
        return [tuple(x.contiguous(memory_format=last) if x.dim() == 4 else x for x in sample) for sample in loaded]

    def __call__(self, held):
        inputs = held[0] if len(held) == 1 else self.task.batch(held, torch)
        with torch.inference_mode():
            outputs = self.model(*(x.to(self.dtype) if x.is_floating_point() else x for x in inputs))
            return self.task.finish(outputs.float())


class Compiled(Eager):
    """torch.compile with frozen weights and kernels that are chosen by trial and called from C++; texts of all lengths
    by one graph."""

    def __init__(self, task, options):
        super().__init__(task, options)
        import torch._inductor.config as inductor

        inductor.freezing = inductor.cpp_wrapper = True
        any_length = task.dynamic_axes is not None
        self.model = torch.compile(self.model, mode="max-autotune-no-cudagraphs", dynamic=any_length)

    @property
    def name(self):
        return f"torch.compile {torch.__version__}"


def written_attention(query, key, value, attn_mask=None):
    """Attention in the operators that the optimisers of ONNX Runtime and OpenVINO look for."""
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        scores = scores + (1.0 - attn_mask.float()) * -10000.0
    return torch.matmul(scores.softmax(-1), value)


@contextlib.contextmanager
def exported(task, batch):
    """The path of the task's model as an ONNX file: of a fixed batch, and of any length of text."""
    one = task.load([0])
    example = one[0] if batch == 1 else task.batch(one * batch, torch)
    attention = nn.functional.scaled_dot_product_attention
    nn.functional.scaled_dot_product_attention = written_attention
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / "model.onnx"
            torch.onnx.export(task.model, example, path, dynamo=False, input_names=task.input_names,
                              output_names=["answers"], dynamic_axes=task.dynamic_axes)
            yield path
    finally:
        nn.functional.scaled_dot_product_attention = attention


def quantised(path, task, options):
    """That model in int8, as ONNX Runtime's static quantiser writes it and OpenVINO reads it, too: weights by output
    channel, activations between what they are on the training samples of the rules."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            loaded = task.training(options.calibration)
            if task.dynamic_axes is None and options.batch > 1:
                loaded = [task.batch([sample] * options.batch, torch) for sample in loaded]
            self.inputs = iter([dict(zip(task.input_names, (x.numpy() for x in sample))) for sample in loaded])

        def get_next(self):
            return next(self.inputs, None)

    logging.disable(logging.WARNING)
    ready, narrow = path.with_name("ready.onnx"), path.with_name("int8.onnx")
    here = Path.cwd()
    os.chdir(path.parent)  # it leaves files of its own where one stands
    quant_pre_process(str(path), str(ready), skip_symbolic_shape=True)
    # Without VNNI two products of eight bits can overflow where they are added.
    flags = Path("/proc/cpuinfo").read_text()
    quantization.quantize_static(
        ready, narrow, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        reduce_range="vnni" not in flags, activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8, calibrate_method=quantization.CalibrationMethod.MinMax)
    os.chdir(here)
    logging.disable(logging.NOTSET)
    return narrow


class Exported:
    """What takes arrays of NumPy and a model in ONNX."""

    def __init__(self, task):
        import numpy

        self.numpy, self.task = numpy, task

    def hold(self, loaded):
        return [tuple(self.numpy.ascontiguousarray(x.numpy()) for x in sample) for sample in loaded]

    def __call__(self, held):
        return self.task.finish(self.run(held[0] if len(held) == 1 else self.task.batch(held, self.numpy)))


class OnnxRuntime(Exported):
    """Texts by the graph that ONNX Runtime's own optimiser of transformers makes."""

    def __init__(self, task, options):
        super().__init__(task)
        import onnxruntime

        if options.precision == "bf16":
            raise PeerError("onnxruntime has no bf16 on a CPU (--precision fp32 or int8)")
        self.name = f"ONNX Runtime {onnxruntime.__version__}"
        session = onnxruntime.SessionOptions()
        session.intra_op_num_threads = options.threads
        session.inter_op_num_threads = 1
        with exported(task, options.batch) as path:
            if task.dynamic_axes:
                path = self.fused(path)
            if options.precision == "int8":
                path = quantised(path, task, options)
            self.session = onnxruntime.InferenceSession(path, session, providers=["CPUExecutionProvider"])

    @staticmethod
    def fused(path):
        from onnxruntime.transformers import optimizer

        logging.disable(logging.WARNING)
        model = optimizer.optimize_model(str(path), model_type="bert", num_heads=12, hidden_size=384)
        logging.disable(logging.NOTSET)
        if model.get_fused_operator_statistics()["Attention"] != 6:
            raise PeerError("this onnxruntime does not find the attention of the model that PyTorch exports")
        model.save_model_to_file(str(path.with_name("fused.onnx")))
        return path.with_name("fused.onnx")

    def run(self, inputs):
        return self.session.run(None, dict(zip(self.task.input_names, inputs)))[0]


class OpenVino(Exported):
    def __init__(self, task, options):
        super().__init__(task)
        import openvino

        core = openvino.Core()
        if options.precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise PeerError("openvino has no bf16 on this processor (--precision fp32)")
        self.name = f"OpenVINO {openvino.__version__.split('-')[0]}"
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": options.threads,
                    "INFERENCE_PRECISION_HINT": "bf16" if options.precision == "bf16" else "f32"}
        with exported(task, options.batch) as path:
            if options.precision == "int8":
                path = quantised(path, task, options)
            self.request = core.compile_model(path, "CPU", settings).create_infer_request()

    def run(self, inputs):
        return self.request.infer(dict(enumerate(inputs)), share_inputs=True, share_outputs=True)[0]


FRAMEWORKS = {"eager": Eager, "compile": Compiled, "openvino": OpenVino, "onnxruntime": OnnxRuntime}
