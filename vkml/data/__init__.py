"""Data sets, their published files, transforms, and a loader of batches in a fixed order."""

from vkml.data.cifar100 import load_cifar100
from vkml.data.dataset import ArrayDataset, Dataset, Subset, split
from vkml.data.draws import Draws
from vkml.data.idx import load_idx
from vkml.data.image_transforms import Normalize, RandomCrop, RandomHorizontalFlip, ToFloat
from vkml.data.loader import DataLoader
from vkml.data.order import permutation
from vkml.data.published import DataError, Images
from vkml.data.transforms import Compose, Transform

__all__ = [
    "ArrayDataset",
    "Compose",
    "DataError",
    "DataLoader",
    "Dataset",
    "Draws",
    "Images",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "Subset",
    "ToFloat",
    "Transform",
    "load_cifar100",
    "load_idx",
    "permutation",
    "split",
]
