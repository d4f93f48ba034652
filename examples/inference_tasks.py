"""What the inference tasks are to a peer in Python: the workload's model, weights, samples, order and score.

Models and data are those of tests/oracle, which the workloads are held against.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracle"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import classify_oracle  # noqa: E402
import detect_oracle  # noqa: E402
import language_oracle  # noqa: E402

IN_MEMORY = 1024  # samples that steps go round, as in workloads/inference
MASK = (1 << 64) - 1


class PeerError(Exception):
    """What a user has to know, in one line."""


def asset(name):
    """The path of a file of workloads/inference/assets.json, which must be the one that is meant."""
    path = Path(os.environ.get("HARNESS_ASSETS") or ROOT / ".venv" / "assets") / name
    if not path.is_file():
        raise PeerError(f"{path} is not there (./quickstart assets gets it)")
    expected = json.loads((ROOT / "workloads" / "inference" / "assets.json").read_text())[name]["sha256"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        raise PeerError(f"{path} is another file (./quickstart assets gets the right one)")
    return path


class WithHead(nn.Module):
    """A model and the linear head on its features."""

    def __init__(self, body, head):
        super().__init__()
        self.body = body
        self.head = nn.Linear(*reversed(head["weight"].shape))
        self.head.load_state_dict(head)

    def forward(self, *inputs):
        return self.head(self.body(*inputs).to(self.head.weight.dtype))


class Task:
    dynamic_axes = None
    checked = 16  # samples, at least, before the first step

    def length(self, sample):
        return 0

    def finish(self, outputs):
        """Answers from what the model gives: in the same way for all frameworks."""
        return outputs

    def training(self, samples):
        """As load(), of the training set: what int8 is calibrated by."""
        raise NotImplementedError

    def error(self, answers, wanted):
        return ((answers - wanted).norm() / wanted.norm()).item()


class Pictures(Task):
    """Pictures, prepared: (1, 3, height, width) each."""

    input_names = ["pictures"]

    def batch(self, loaded, to):
        return (to.concatenate([pictures for (pictures,) in loaded]),)


class Classify(Pictures):

    metric = "top-1"
    # PyTorch's autocast itself is 0.085 off: eager modules round behind each convolution and again behind each norm.
    # ONNX Runtime in int8 with seven bits of weights: 0.40.
    tolerances = {"fp32": 1e-4, "bf16": 0.15, "int8": 0.6}

    def __init__(self):
        weights = asset("mobilenet_v2-b0353104.pth")
        if not classify_oracle.FOLDER.is_dir():
            raise PeerError(f"{classify_oracle.FOLDER} is not there (the Debian package dataset-fashion-mnist has it)")
        self.oracle = classify_oracle.load_model(weights)
        self.head = classify_oracle.read_safetensors(ROOT / "workloads/classify/fashion_mnist_head.safetensors")
        self.model = WithHead(classify_oracle.load_model(weights), self.head).eval()
        self.pictures, self.labels = classify_oracle.split("t10k")
        self.count = len(self.labels)

    def load(self, samples):
        """For each sample the model's inputs, as torch tensors that begin with a dimension of 1."""
        return [(classify_oracle.prepared(self.pictures[i:i + 1]),) for i in samples]

    def training(self, samples):
        pictures, _ = classify_oracle.split("train")
        return [(classify_oracle.prepared(pictures[i:i + 1]),) for i in samples]

    def reference(self, samples):
        """The oracle's answers."""
        features = classify_oracle.features(self.oracle, self.pictures[samples])
        return nn.functional.linear(features, self.head["weight"], self.head["bias"])

    def score(self, answers):
        return (answers.argmax(1) == self.labels).float().mean().item()


class Detect(Pictures):
    """The small RetinaNet; norms are folded into the convolutions, as everybody does who deploys one."""

    metric = "mAP"
    architecture, scenes = detect_oracle.MINI, "1-mini"
    # Of how many there are, of their scores and of their boxes, each summed over a picture.
    tolerances = {"fp32": 1e-3, "bf16": 0.1, "int8": 0.2}

    def __init__(self):
        self.anchors = detect_oracle.level_anchors(self.architecture)
        state = self.weights()
        self.oracle = detect_oracle.make_model(state, self.architecture)
        self.model = detect_oracle.folded(detect_oracle.make_model(state, self.architecture))
        try:
            self.files, (width, height) = detect_oracle.pictures_of(self.scenes)
        except FileNotFoundError as missing:
            raise PeerError(f"{missing.filename} is not there (a run of the task composes it)") from None
        side = self.architecture.side
        self.ratio = torch.tensor([width / side, height / side] * 2)
        self.count = len(self.files)

    def weights(self):
        return classify_oracle.read_safetensors(detect_oracle.WEIGHTS)

    def prepared(self, file):
        return (detect_oracle.prepared(detect_oracle.read_png(file), self.architecture.side),)

    def load(self, samples):
        return [self.prepared(self.files[i]) for i in samples]

    def training(self, samples):
        files, _ = detect_oracle.pictures_of(self.scenes, "train")
        return [self.prepared(files[i]) for i in samples]

    def finish(self, outputs):
        rows = torch.zeros((len(outputs), 1 + detect_oracle.NUMBERS * detect_oracle.MOST))
        for row, output in zip(rows, torch.as_tensor(outputs)):
            found = detect_oracle.found(output, self.anchors, self.architecture)
            found[:, :4] *= self.ratio
            row[0] = len(found)
            row[1:1 + found.numel()] = found.flatten()
        return rows

    def reference(self, samples):
        return torch.cat([self.finish(self.oracle(*self.load([i])[0])) for i in samples])

    def error(self, answers, wanted):
        """Detections of equal scores may change places, and one more or less lies on a threshold."""
        def sums(rows):
            each = rows[:, 1:].view(len(rows), -1, detect_oracle.NUMBERS).double()
            return torch.stack((rows[:, 0].double(), each[:, :, 4].sum(1), each[:, :, :4].sum((1, 2))))
        ours, theirs = sums(answers), sums(wanted)
        return ((ours - theirs).norm(dim=1) / theirs.norm(dim=1)).max().item()

    def score(self, answers):
        raise PeerError("its mAP is the workload's to tell")


class DetectFull(Detect):
    """MLPerf's RetinaNet with the golden weights."""

    architecture, scenes = detect_oracle.FULL, "1-full"
    checked = 2

    def weights(self):
        return detect_oracle.golden_weights(ROOT / "tests/golden/retinanet_a.json")


class Language(Task):
    """Texts as tokens: (tokens, which of them are there), (length,) each."""

    input_names = ["tokens", "there"]
    dynamic_axes = {"tokens": {1: "length"}, "there": {1: "length"}}
    head = None
    tolerances = {"fp32": 1e-4, "bf16": 0.05, "int8": 0.9}

    def __init__(self):
        asset("all-minilm-l6-v2.safetensors")
        pieces = language_oracle.Pieces(asset("bert-uncased-vocabulary.txt"))
        self.oracle = language_oracle.load_model(self.assets())
        self.model = language_oracle.load_model(self.assets())
        self.pieces = pieces
        self.rows = [pieces(text) for text in self.texts()]
        self.count = len(self.rows)

    def assets(self):
        return asset("bert-uncased-vocabulary.txt").parent

    def load(self, samples):
        return [language_oracle.batch([self.rows[i]]) for i in samples]

    def training(self, samples):
        texts = language_oracle.movie_snippets(asset("movie-snippets.txt").parent)[0::2]
        return [language_oracle.batch([self.pieces(texts[i][0])]) for i in samples]

    def length(self, sample):
        return len(self.rows[sample])

    def batch(self, loaded, to):
        """Padded to the longest, as a user of these frameworks has to."""
        lengths = [tokens.shape[1] for tokens, _ in loaded]
        all_tokens = to.zeros((len(loaded), max(lengths)), dtype=to.int64)
        for row, (tokens, _) in zip(all_tokens, loaded):
            row[:tokens.shape[1]] = tokens[0]
        return all_tokens, to.arange(max(lengths))[None, :] < to.asarray(lengths)[:, None]

    def reference(self, samples):
        answers = language_oracle.embed(self.oracle, [self.rows[i] for i in samples])
        return nn.functional.linear(answers, self.head["weight"], self.head["bias"]) if self.head else answers


class Embed(Language):
    metric = "pearson"

    def texts(self):
        asset("lee-similarities.txt")
        texts, self.people = language_oracle.lee_documents(asset("lee-documents.txt").parent)
        return texts

    def score(self, answers):
        return language_oracle.likeness(answers, self.people)[0]


class Sentiment(Language):
    metric = "accuracy"

    def __init__(self):
        super().__init__()
        self.head = language_oracle.read_safetensors(ROOT / "workloads/sentiment/movies_head.safetensors")
        self.model = WithHead(self.model, self.head).eval()

    def texts(self):
        tested = language_oracle.movie_snippets(asset("movie-snippets.txt").parent)[1::2]
        self.liked = torch.tensor([liked for _, liked in tested])
        return [text for text, _ in tested]

    def score(self, answers):
        return ((answers[:, 0] > 0) == self.liked).float().mean().item()


TASKS = {"classify": Classify, "detect": Detect, "detect-full": DetectFull, "embed": Embed, "sentiment": Sentiment}


def mix(value):
    """SplitMix64's finaliser (workloads/data/random.hpp)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def step_order(count, run_seed):
    """Which samples the workload's steps go round, and in which order: a run's seed, the seed of its data
    (harness/plan/plan.cpp), a shuffle (workloads/inference/inference.cpp)."""
    increment = 0x9E3779B97F4A7C15
    data_seed = mix(((run_seed << 8) + 2 + increment) & MASK) >> 32
    key = mix((increment + data_seed) & MASK)
    order = list(range(count))
    for draw, i in enumerate(range(count, 1, -1), start=1):
        other = ((mix((key + draw * increment) & MASK) >> 32) * i) >> 32
        order[i - 1], order[other] = order[other], order[i - 1]
    return order[:IN_MEMORY]
