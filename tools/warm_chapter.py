"""What most chapters import and read first, loaded once for the kernels that are forks of it."""

# ruff: noqa: F401

import ipykernel.kernelapp
import matplotlib.figure  # not pyplot, which looks for the kernel that shows its figures
import mpl_toolkits.mplot3d
import torch._dynamo  # the first optimizer, meta tensor or count of operations imports it
import torch.utils.flop_counter

import transformer_ref.experiments
import transformer_ref.g2p
import transformer_ref.training
from transformer_ref.data import load_cmudict

load_cmudict("dev")  # reads the whole dictionary, which stays in memory
