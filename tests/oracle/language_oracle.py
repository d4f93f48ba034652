#!/usr/bin/env python3
"""The tasks `embed` and `sentiment` by PyTorch's own modules and Python's own Unicode: fits the head of `sentiment`,
and says what each document and each snippet gives.

    PYTHON tests/oracle/language_oracle.py --assets .venv/assets --head workloads/sentiment/movies_head.safetensors \\
        [--embed-golden FILE] [--sentiment-golden FILE]

PYTHON has PyTorch (quickstart's is .venv/bin/python). The head is a ridge regression in double precision on the
snippets with an even number; an existing one is used as it is. It prints the quality of both tasks.
"""
import argparse
import itertools
import json
import math
import string
import unicodedata
from pathlib import Path

import torch
from torch import nn

from classify_oracle import read_safetensors, write_safetensors

WIDTH, HEADS, LAYERS, MOST_TOKENS, LONGEST_WORD = 384, 12, 6, 256, 100
RIDGE, LEAST_RATING = 1.0, 0.5
IDEOGRAPHS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]


def words(text):
    """What BERT's uncased vocabulary is looked up for."""
    spaced = ""
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c) in ("Zs", "Zl", "Zp"):
            spaced += " "
        elif c != "\ufffd" and unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs"):
            ideograph = any(first <= ord(c) <= last for first, last in IDEOGRAPHS)
            spaced += f" {c} " if ideograph else c
    separated = ""
    for c in unicodedata.normalize("NFD", spaced):
        if unicodedata.category(c) != "Mn":
            alone = c in string.punctuation or unicodedata.category(c)[0] == "P"
            separated += f" {c} " if alone else c.lower()
    return separated.split()


class Pieces:
    def __init__(self, file):
        self.ids = {piece: i for i, piece in enumerate(Path(file).read_text(encoding="utf-8").split("\n")[:-1])}

    def of_word(self, word):
        found, begin = [], 0
        while begin < len(word) <= LONGEST_WORD:
            prefix = "##" if begin else ""
            end = next((e for e in range(len(word), begin, -1) if prefix + word[begin:e] in self.ids), None)
            if end is None:
                break
            found.append(self.ids[prefix + word[begin:end]])
            begin = end
        return found if begin == len(word) else [self.ids["[UNK]"]]

    def __call__(self, text):
        found = [piece for word in words(text) for piece in self.of_word(word)]
        return [self.ids["[CLS]"], *found[:MOST_TOKENS - 2], self.ids["[SEP]"]]


class Layer(nn.Module):
    """Its modules named as in the file."""

    def __init__(self):
        super().__init__()
        attention, here = nn.ModuleDict(), nn.ModuleDict
        attention["self"] = here({name: nn.Linear(WIDTH, WIDTH) for name in ("query", "key", "value")})
        attention["output"] = here({"dense": nn.Linear(WIDTH, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, eps=1e-12)})
        self.attention = attention
        self.intermediate = here({"dense": nn.Linear(WIDTH, 4 * WIDTH)})
        self.output = here({"dense": nn.Linear(4 * WIDTH, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, eps=1e-12)})

    def forward(self, x, mask):
        by_head = (x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
        inner, behind = self.attention["self"], self.attention["output"]
        query, key, value = (inner[name](x).view(by_head).transpose(1, 2) for name in ("query", "key", "value"))
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = behind["LayerNorm"](behind["dense"](mixed.transpose(1, 2).reshape(x.shape)) + x)
        wide = nn.functional.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](self.output["dense"](wide) + x)


class MiniLM(nn.Module):
    """Tokens (texts, longest) and which of them are there, to means of length 1 (texts, WIDTH)."""

    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(30522, WIDTH), "position_embeddings": nn.Embedding(512, WIDTH),
            "token_type_embeddings": nn.Embedding(2, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, eps=1e-12)})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, tokens, there):
        e = self.embeddings
        positions = e["position_embeddings"].weight[:tokens.shape[1]] + e["token_type_embeddings"].weight[0]
        x = e["LayerNorm"](e["word_embeddings"](tokens) + positions)
        mask = None if tokens.shape[0] == 1 else there[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        counted = there.unsqueeze(2).float()
        return nn.functional.normalize((x * counted).sum(1) / counted.sum(1))


def load_model(assets):
    model = MiniLM()
    tensors = read_safetensors(Path(assets) / "all-minilm-l6-v2.safetensors")
    model.load_state_dict({name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")})
    return model.eval()


def batch(rows):
    """Rows of tokens as one tensor, and which of its elements are there."""
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return tokens, torch.arange(longest) < torch.tensor([[len(row)] for row in rows])


def embed(model, rows):
    """Those of one length together, so that there is no padding."""
    answers = torch.empty(len(rows), WIDTH)
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for _, group in itertools.groupby(by_length, key=lambda i: len(rows[i])):
        for part in torch.tensor(list(group)).split(32):
            answers[part] = model(*batch([rows[i] for i in part]))
    return answers


def lee_documents(assets):
    """Texts, and how alike people found each two of them."""
    texts = (Path(assets) / "lee-documents.txt").read_bytes().decode("latin-1").rstrip("\n").split("\n")
    table = (Path(assets) / "lee-similarities.txt").read_text().split()
    return texts, torch.tensor([float(v) for v in table], dtype=torch.float64).view(len(texts), len(texts))


def movie_snippets(assets):
    """Those that people took for something: (text, whether they liked it)."""
    kept, seen = [], set()
    for line in (Path(assets) / "movie-snippets.txt").read_text(encoding="utf-8").splitlines():
        _, rating, text = line.split("\t")
        text = text.strip()
        if abs(float(rating)) >= LEAST_RATING and text not in seen:
            seen.add(text)
            kept.append((text, float(rating) > 0))
    return kept


def correlation(a, b):
    return torch.corrcoef(torch.stack([a, b]))[0, 1].item()


def ranks(values):
    """Equal values share the mean of their ranks."""
    _, group, count = values.unique(return_inverse=True, return_counts=True)
    return (count.cumsum(0) - (count - 1) / 2)[group].double()


def fit(features, liked):
    x = features.double()
    y = torch.where(liked, 1.0, -1.0).double().unsqueeze(1)
    mean, target = x.mean(0), y.mean(0)
    centred = x - mean
    weight = torch.linalg.solve(centred.T @ centred + RIDGE * torch.eye(WIDTH, dtype=torch.float64),
                                centred.T @ (y - target))
    return weight.T.float().contiguous(), (target - mean @ weight).float()


def write_golden(path, task, content):
    made_by = f"tests/oracle/language_oracle.py, PyTorch {torch.__version__}"
    Path(path).write_text(json.dumps({"format": f"{task}-golden/1", "made_by": made_by, **content}, indent=0) + "\n")


def likeness(answers, people):
    """Pearson's and Spearman's correlation of the answers' cosines with what people found, and over how many pairs."""
    upper = torch.triu_indices(len(answers), len(answers), 1)
    cosine = (answers.double() @ answers.double().T)[upper[0], upper[1]]
    alike = people[upper[0], upper[1]]
    return correlation(cosine, alike), correlation(ranks(cosine), ranks(alike)), len(alike)


def embed_task(options, model, pieces):
    texts, people = lee_documents(options.assets)
    rows = [pieces(text) for text in texts]
    answers = embed(model, rows)
    pearson, spearman, pairs = likeness(answers, people)
    print(f"embed: Pearson {pearson:.5f}, Spearman {spearman:.5f} over {pairs} pairs")
    if options.embed_golden:
        waves = torch.tensor([math.sin(i + 1) for i in range(WIDTH)], dtype=torch.float64)
        write_golden(options.embed_golden, "embed", {
            "pearson": pearson, "spearman": spearman, "lengths": [len(row) for row in rows],
            "first_tokens": rows[0],
            "answers": [[round(v, 7) for v in row] for row in answers[:16].tolist()],
            # Of each answer the sum of its elements times sin(1), sin(2), ...
            "projected": [round(v, 7) for v in (answers.double() @ waves).tolist()]})


def sentiment_task(options, model, pieces):
    snippets = movie_snippets(options.assets)
    rows = [pieces(text) for text, _ in snippets]
    liked = torch.tensor([liked for _, liked in snippets])
    if not Path(options.head).exists():
        weight, bias = fit(embed(model, rows[0::2]), liked[0::2])
        write_safetensors(options.head, {"weight": weight, "bias": bias})
    head = read_safetensors(options.head)
    scores = nn.functional.linear(embed(model, rows[1::2]), head["weight"], head["bias"]).squeeze(1)
    right = ((scores > 0) == liked[1::2]).sum().item()
    print(f"sentiment: accuracy {right / len(scores):.4f}, {right} of {len(scores)}; {len(snippets)} snippets kept")
    if options.sentiment_golden:
        write_golden(options.sentiment_golden, "sentiment", {
            "kept": len(snippets), "right": right,
            "chosen": "".join("+" if score > 0 else "-" for score in scores.tolist()),
            "lengths_sum": sum(len(row) for row in rows[1::2]),
            "least": scores.abs().min().item(),
            "answers": [round(v, 7) for v in scores[:64].tolist()]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", required=True)
    parser.add_argument("--head", required=True)
    parser.add_argument("--embed-golden")
    parser.add_argument("--sentiment-golden")
    options = parser.parse_args()
    model = load_model(options.assets)
    pieces = Pieces(Path(options.assets) / "bert-uncased-vocabulary.txt")
    with torch.inference_mode():
        embed_task(options, model, pieces)
        sentiment_task(options, model, pieces)


if __name__ == "__main__":
    main()
