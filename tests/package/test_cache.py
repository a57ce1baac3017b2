"""The cache: what it returns, how it grows, and what it keeps of a batch."""

import pytest
import torch

from transformer_ref import MultiHeadAttention
from transformer_ref.cache import FixedCache, GrowingCache, KVCache

HEADS, HEAD_SIZE = 3, 4


def tokens(*shape, device="cpu"):
    """Keys or values (..., H, n, K) of (..., n) tokens."""
    *leading, length = shape
    return torch.randn(*leading, HEADS, length, HEAD_SIZE, device=device)


def test_a_growing_cache_returns_all_so_far(device):
    keys, values = tokens(2, 2, 40, device=device)
    cache = GrowingCache()
    end = 0
    for size in (1, 1, 5, 2, 30, 1):
        part = slice(end, end + size)
        end += size
        found = cache.append(keys[:, :, part], values[:, :, part])
        for mine, expected in zip(found, (keys[:, :, :end], values[:, :, :end]), strict=True):
            assert torch.equal(mine, expected)


def test_its_room_doubles_so_that_old_tokens_are_seldom_moved(device):
    cache = GrowingCache()
    moves, where = 0, None
    for _ in range(256):
        keys, _ = cache.append(*tokens(2, 1, 1, device=device))
        moves += keys.data_ptr() != where
        where = keys.data_ptr()
    assert moves <= 9


@pytest.mark.parametrize("rows", [[1, 0], [1], [0, 0, 1, 1, 0], []])
def test_selected_rows_go_on_by_themselves(device, rows):
    keys, values, new_keys, new_values = tokens(4, 2, 3, device=device)
    rows = torch.tensor(rows, dtype=torch.int64, device=device)
    cache = GrowingCache()
    cache.append(keys, values)
    cache.select(rows)
    found = cache.append(new_keys[rows], new_values[rows])
    whole = [torch.cat((a, b), dim=2)[rows] for a, b in ((keys, new_keys), (values, new_values))]
    for mine, expected in zip(found, whole, strict=True):
        assert torch.equal(mine, expected)


def test_attention_projects_the_memory_once(device):
    attention = MultiHeadAttention(12, 3).to(device)
    query, memory = torch.randn(2, 4, 12, device=device), torch.randn(2, 5, 12, device=device)
    cache, calls = FixedCache(), []
    cache.select(torch.tensor([1], device=device))  # nothing there yet: nothing to do
    attention.k_proj.register_forward_hook(lambda *_: calls.append("key"))
    attention.v_proj.register_forward_hook(lambda *_: calls.append("value"))
    expected = attention(query, memory, memory)
    calls.clear()
    for _ in range(3):
        torch.testing.assert_close(attention(query, memory, memory, cache=cache), expected)
    assert calls == ["key", "value"]
    rows = torch.tensor([1, 1, 0], device=device)
    cache.select(rows)
    moved = attention(query[rows], memory[rows], memory[rows], cache=cache)
    torch.testing.assert_close(moved, expected[rows])
    assert calls == ["key", "value"]


def test_beams_of_one_source_leave_the_memory_where_it_is():
    cache = KVCache(2)
    own, memory = tokens(2, 1), tokens(2, 5)
    assert cache.length == 0
    ids = cache.begin(torch.tensor([[4], [5]]), 2)
    assert ids.tolist() == [[4], [5]]
    cache.keep(ids)
    for layer in cache.layers:
        layer.self_attention.append(own, own)
        layer.cross_attention.append(memory, 2 * memory)
    cache.select(torch.tensor([1, 0]), same_source=True)
    ids = cache.begin(torch.tensor([[6], [7]]), 2)
    assert ids.tolist() == [[5, 6], [4, 7]]
    assert cache.length == 1  # until the layers have read them
    cache.keep(ids)
    assert cache.length == 2
    keys, _ = cache.layers[1].self_attention.append(own, own)
    assert torch.equal(keys, torch.cat((own[[1, 0]], own), dim=2))
    assert torch.equal(cache.layers[1].cross_attention.stored[0], memory)
    cache.select(torch.tensor([1, 0]))
    assert torch.equal(cache.layers[1].cross_attention.stored[1], 2 * memory[[1, 0]])
