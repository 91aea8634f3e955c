"""Every name of the planned public surface exists, or docs/limits.md says why it does not."""

import inspect
import re
from pathlib import Path

import pytest

import vkml
from vkml import data, nn, optim
from vkml_core.public import PUBLIC

LIMITS = (Path(__file__).parent.parent / "docs" / "limits.md").read_text()
NOT_YET = LIMITS.split("## Not here yet")[1].split("\n## ")[0]
MISSING = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", NOT_YET))))

NAMES = {
    vkml: """
        float32 float16 int32 int64 bool_ device available_devices best_device
        tensor from_numpy asarray zeros ones full zeros_like ones_like full_like arange rand randn
        randint eye linspace stack split chunk manual_seed
        neg abs sign square sqrt rsqrt reciprocal exp log sin cos tanh sigmoid erf erfc relu gelu
        silu clamp clamp_min clamp_max exp2 expm1 log2 log10 log1p tan floor ceil round trunc isnan
        isinf leaky_relu elu softplus logical_not
        add sub mul div pow maximum minimum scaled_add equal not_equal less less_equal greater
        greater_equal where masked_fill
        sum mean prod amax amin argmax argmin var std all any cumsum logsumexp
        cat tril triu index_select scatter_add im2col col2im gather pad flip repeat topk sort
        matmul softmax log_softmax layer_norm rms_norm batch_norm dropout conv2d max_pool2d
        avg_pool2d scaled_dot_product_attention
        cross_entropy mse_loss huber_loss kl_div binary_cross_entropy_with_logits l1_loss nll_loss
        realize assign set_eager is_eager eager_mode no_grad backward detach compile grad
        save load save_module load_module Checkpoint CheckpointError get_rng_state set_rng_state
        attribution record_decisions decisions decisions_published stop_recording_decisions
        configuration set_log_level LogLevel
        Error ShapeError DTypeError IndexError_ DeviceError UnsupportedOpError NotImplementedError_
        OutOfMemoryError DeviceLost
    """,
    vkml.Tensor: """
        shape ndim size dtype device strides is_contiguous requires_grad grad T is_leaf numel
        defined realize item numpy tolist __array__ __dlpack__ __dlpack_device__ __len__ __iter__
        __repr__ __bool__ reshape view permute transpose squeeze unsqueeze broadcast_to expand
        flatten contiguous to astype __getitem__ assign_ backward detach requires_grad_
        __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__
        __rpow__ __matmul__ __neg__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __and__ __or__
        __xor__ __invert__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __iadd__ __isub__ __imul__
        __itruediv__
    """,
    vkml.device: """
        name kind capabilities stats synchronize report set_profiling last_profile profile_records
        set_profile_history timestamps_supported
    """,
    nn: """
        Module Sequential ModuleList Flatten Linear ReLU Tanh Sigmoid GELU SiLU LeakyReLU Softmax
        BatchNorm2d LayerNorm RMSNorm GroupNorm Dropout Embedding Conv1d Conv2d MaxPool2d AvgPool2d
        AdaptiveAvgPool2d MultiheadAttention PositionalEncoding TransformerEncoderLayer
        TransformerEncoder BatchNorm1d Identity
        CrossEntropyLoss MSELoss HuberLoss KLDivLoss BCEWithLogitsLoss L1Loss NLLLoss manual_seed
        init
    """,
    nn.Module: """
        register_buffer named_parameters named_buffers named_modules parameters state_dict
        load_state_dict zero_grad to train eval apply register_forward_hook summary
        random_state load_random_state
    """,
    optim: """
        SGD RMSProp Adam AdamW clip_grad_norm_ StepLR CosineAnnealing LinearWarmup
    """,
    data: """
        Dataset ArrayDataset Subset DataLoader split Compose RandomHorizontalFlip RandomCrop
        Normalize ToFloat Transform Draws Images DataError load_idx load_cifar100
    """,
}
CASES = [(owner, name) for owner, names in NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("owner", "name"), CASES, ids=lambda v: getattr(v, "__name__", v))
def test_name_exists_or_is_a_known_limit(owner: object, name: str) -> None:
    exists, listed = hasattr(owner, name), name in MISSING
    assert exists != listed, f"{name}: exists: {exists}, listed as missing: {listed}"


def test_every_public_function_is_documented() -> None:
    for entry in PUBLIC.values():
        doc = inspect.getdoc(entry.function) or ""
        assert re.match(r"[^\n]+[.)]", doc), f"{entry.name}: its docstring needs a first sentence"


def test_the_list_of_names_is_sorted_and_true() -> None:
    assert vkml.__all__ == sorted(set(vkml.__all__))
    for name in vkml.__all__:
        assert hasattr(vkml, name), name
