"""Wrong answers to the tasks on embeddings."""

from tests.checks.material.unlisted import wrong


@wrong("embeddings.skipgram_pairs", "range(i - window, ...) without max: wraps around to the end")
def skipgram_pairs_5(ids, window):
    result = []
    for i in range(len(ids)):
        for j in range(i - window, i + window + 1):
            if j != i and j < len(ids):
                result.append((ids[i], ids[j]))
    return result


@wrong("embeddings.skipgram_pairs", "ids[i - 1] and ids[i + 1]: the window is always 1")
def skipgram_pairs_9(ids, window):
    pairs = []
    for i in range(len(ids)):
        if i > 0:
            pairs.append((ids[i], ids[i - 1]))
        if i + 1 < len(ids):
            pairs.append((ids[i], ids[i + 1]))
    return pairs


@wrong("embeddings.skipgram_pairs", "ids.pop(i): the list of the caller is emptied on the way")
def skipgram_pairs_10(ids, window):
    pairs = []
    for i in range(len(ids)):
        around = ids[max(0, i - window) : i + window + 1]
        center = ids.pop(0)
        around.remove(center)
        pairs += [(center, context) for context in around]
    return pairs
