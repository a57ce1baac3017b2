"""The cache: what it returns, how it grows, and what it keeps of a batch."""

import pytest
import torch

from transformer_ref import MultiHeadAttention
from transformer_ref.cache import FixedCache, GrowingCache, KVCache


def as_heads(key, value):
    """A projection that only sorts features into 3 heads of 4."""
    return tuple(x.unflatten(-1, (3, 4)).transpose(1, 2) for x in (key, value))


def test_a_growing_cache_returns_all_so_far(device):
    keys, values = torch.randn(2, 2, 40, 12, device=device)
    cache = GrowingCache()
    end = 0
    for size in (1, 1, 5, 2, 30, 1):
        part = slice(end, end + size)
        end += size
        found = cache.update(as_heads, keys[:, part], values[:, part])
        for mine, expected in zip(found, as_heads(keys[:, :end], values[:, :end]), strict=True):
            assert torch.equal(mine, expected)


def test_its_room_doubles_so_that_old_tokens_are_seldom_moved(device):
    cache = GrowingCache()
    moves, where = 0, None
    for _ in range(256):
        keys, _ = cache.update(as_heads, *torch.randn(2, 1, 1, 12, device=device))
        moves += keys.data_ptr() != where
        where = keys.data_ptr()
    assert moves <= 9


@pytest.mark.parametrize("rows", [[1, 0], [1], [0, 0, 1, 1, 0], []])
def test_selected_rows_go_on_by_themselves(device, rows):
    keys, values, new_keys, new_values = torch.randn(4, 2, 3, 12, device=device)
    rows = torch.tensor(rows, dtype=torch.int64, device=device)
    cache = GrowingCache()
    cache.update(as_heads, keys, values)
    cache.select(rows)
    found = cache.update(as_heads, new_keys[rows], new_values[rows])
    whole = [torch.cat((a, b), dim=1)[rows] for a, b in ((keys, new_keys), (values, new_values))]
    for mine, expected in zip(found, as_heads(*whole), strict=True):
        assert torch.equal(mine, expected)


def test_a_fixed_cache_projects_once(device):
    memory = torch.randn(2, 5, 12, device=device)
    cache, calls = FixedCache(), []
    cache.select(torch.tensor([1], device=device))  # nothing there yet: nothing to do
    for _ in range(3):
        keys, _ = cache.update(lambda k, v: calls.append(1) or as_heads(k, v), memory, memory)
    assert len(calls) == 1
    assert torch.equal(keys, as_heads(memory, memory)[0])
    cache.select(torch.tensor([1, 1, 0], device=device))
    keys, values = cache.update(as_heads, memory, memory)
    assert torch.equal(keys, as_heads(memory, memory)[0][[1, 1, 0]])
    assert torch.equal(values, keys)


def test_beams_of_one_source_leave_the_memory_where_it_is():
    cache = KVCache(2)
    memory = torch.randn(2, 5, 12)
    assert cache.length == 0
    ids = cache.begin(torch.tensor([[4], [5]]))
    assert ids.tolist() == [[4], [5]]
    cache.keep(ids)
    for layer in cache.layers:
        layer.self_attention.update(as_heads, memory[:, :1], memory[:, :1])
        before = layer.cross_attention.update(as_heads, memory, memory)[0]
    cache.select(torch.tensor([1, 0]), same_source=True)
    ids = cache.begin(torch.tensor([[6], [7]]))
    assert ids.tolist() == [[5, 6], [4, 7]]
    assert cache.length == 1  # until the layers have read them
    cache.keep(ids)
    assert cache.length == 2
    own, _ = cache.layers[1].self_attention.update(as_heads, memory[:, :1], memory[:, :1])
    assert torch.equal(own[:, :, 0], as_heads(memory, memory)[0][[1, 0], :, 0])
    cross, _ = cache.layers[1].cross_attention.update(as_heads, memory, memory)
    assert torch.equal(cross, before)
    cache.select(torch.tensor([1, 0]))
    cross, _ = cache.layers[1].cross_attention.update(as_heads, memory, memory)
    assert torch.equal(cross, before[[1, 0]])


def test_a_cache_needs_a_layer():
    with pytest.raises(ValueError, match="num_layers must be an integer of at least 1, got 0"):
        KVCache(0)


def test_a_batch_of_another_size_is_refused_where_it_could_broadcast():
    attention, cache = MultiHeadAttention(8, 2), FixedCache()
    attention(torch.zeros(2, 3, 8), *[torch.zeros(2, 5, 8)] * 2, cache=cache)
    one = torch.zeros(1, 3, 8)
    with pytest.raises(ValueError, match="filled with a batch of 2, got query of 1"):
        attention(one, *[torch.zeros(1, 5, 8)] * 2, cache=cache)
