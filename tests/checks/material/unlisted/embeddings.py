"""Wrong answers to the tasks on embeddings."""

import torch
import torch.nn.functional as F

from tests.checks.material.unlisted import wrong


@wrong("embeddings.skipgram_pairs", "range(i - window, i + window): the rightmost is left out")
def skipgram_pairs_1(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window)):
            if j != i:
                pairs.append((ids[i], ids[j]))
    return pairs


@wrong("embeddings.skipgram_pairs", "(ids[j], ids[i]): the pairs are (context, center)")
def skipgram_pairs_2(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                pairs.append((ids[j], ids[i]))
    return pairs


@wrong("embeddings.skipgram_pairs", "ids[j] != ids[i]: a neighbour with the same id is left out")
def skipgram_pairs_3(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if ids[j] != center:
                pairs.append((center, ids[j]))
    return pairs


@wrong("embeddings.skipgram_pairs", "return inside the outer loop: the pairs of one word only")
def skipgram_pairs_4(ids, window):
    pairs = []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append((ids[i], ids[j]))
        return pairs
    return pairs


@wrong("embeddings.skipgram_pairs", "range(i - window, ...) without max: wraps around to the end")
def skipgram_pairs_5(ids, window):
    result = []
    for i in range(len(ids)):
        for j in range(i - window, i + window + 1):
            if j != i and j < len(ids):
                result.append((ids[i], ids[j]))
    return result


@wrong("embeddings.skipgram_pairs", "range(window, len(ids) - window): words at the edges are left")
def skipgram_pairs_6(ids, window):
    result = []
    for i in range(window, len(ids) - window):
        for j in range(i - window, i + window + 1):
            if j != i:
                result.append((ids[i], ids[j]))
    return result


@wrong("embeddings.skipgram_pairs", "ids[i + distance] and ids[i - distance]: near ones come first")
def skipgram_pairs_7(ids, window):
    pairs = []
    for i, center in enumerate(ids):
        for distance in range(1, window + 1):
            if i - distance >= 0:
                pairs.append((center, ids[i - distance]))
            if i + distance < len(ids):
                pairs.append((center, ids[i + distance]))
    return pairs


@wrong("embeddings.skipgram_pairs", "(i, j): places are paired and not ids")
def skipgram_pairs_8(ids, window):
    return [
        (i, j)
        for i in range(len(ids))
        for j in range(max(0, i - window), min(len(ids), i + window + 1))
        if i != j
    ]


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


@wrong("embeddings.negative_sampling_loss", "logsigmoid(real) + ...: the minus is missing")
def negative_sampling_loss_1(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = torch.einsum("bd,bnd->bn", center, negatives)
    return (F.logsigmoid(real) + F.logsigmoid(-drawn).sum(-1)).mean()


@wrong("embeddings.negative_sampling_loss", "logsigmoid(drawn): no minus inside for the negatives")
def negative_sampling_loss_2(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (center.unsqueeze(1) * negatives).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(drawn).sum(-1)).mean()


@wrong("embeddings.negative_sampling_loss", ".mean(-1) over the negatives in the place of the sum")
def negative_sampling_loss_3(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (center.unsqueeze(1) * negatives).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn).mean(-1)).mean()


@wrong("embeddings.negative_sampling_loss", ".sum() at the end: not divided by B")
def negative_sampling_loss_4(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (center.unsqueeze(1) * negatives).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn).sum(-1)).sum()


@wrong("embeddings.negative_sampling_loss", "center @ positive.T: each centre meets all positives")
def negative_sampling_loss_5(center, positive, negatives):
    real = center @ positive.T
    drawn = (center.unsqueeze(1) * negatives).sum(-1)
    return -F.logsigmoid(real).mean() - F.logsigmoid(-drawn).sum(-1).mean()


@wrong("embeddings.negative_sampling_loss", "torch.log(torch.sigmoid(x)): infinite at -200")
def negative_sampling_loss_6(center, positive, negatives):
    real = torch.sigmoid((center * positive).sum(-1))
    drawn = torch.sigmoid(-(center.unsqueeze(1) * negatives).sum(-1))
    return -(torch.log(real) + torch.log(drawn).sum(-1)).mean()


@wrong("embeddings.negative_sampling_loss", "no .mean(): a loss for each centre is returned")
def negative_sampling_loss_7(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (center.unsqueeze(1) * negatives).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn).sum(-1))


@wrong("embeddings.negative_sampling_loss", "positive.unsqueeze(1) * negatives: the centre is out")
def negative_sampling_loss_8(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (positive.unsqueeze(1) * negatives).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn).sum(-1)).mean()


@wrong("embeddings.negative_sampling_loss", "only the real neighbour: the negatives are forgotten")
def negative_sampling_loss_9(center, positive, negatives):
    real = (center * positive).sum(-1)
    return -F.logsigmoid(real).mean()


@wrong(
    "embeddings.negative_sampling_loss", "negatives.sum(1): products are summed before logsigmoid"
)
def negative_sampling_loss_10(center, positive, negatives):
    real = (center * positive).sum(-1)
    drawn = (center * negatives.sum(1)).sum(-1)
    return -(F.logsigmoid(real) + F.logsigmoid(-drawn)).mean()
