"""The searches for one game in f64, written down plainly: says how close its decisions are."""

import math

import numpy as np

TINY = float(np.finfo(np.float32).tiny)
LOWEST = float(np.finfo(np.float32).min)


class Node:
    def __init__(self, state, logits, value):
        self.state, self.logits, self.raw, self.value, self.visits = state, logits, value, value, 1
        size = len(logits)
        self.children, self.counts, self.q = [None] * size, np.zeros(size), np.zeros(size)
        self.prior = softmax(logits)


def softmax(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def halving(considered, simulations):
    """The visit count of the action that each simulation visits."""
    if considered <= 1:
        return list(range(simulations))
    phases, remaining, visits, sequence = math.ceil(math.log2(considered)), considered, 0, []
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (phases * remaining))):
            sequence += [visits] * remaining
            visits += 1
        remaining = max(2, remaining // 2)
    return sequence


def completed_q(shape, node):
    visited, total = node.counts > 0, node.counts.sum()
    value = node.raw
    if shape.mixed:
        prior = np.maximum(node.prior, TINY)[visited]
        weighted = (prior * node.q[visited]).sum() / prior.sum() if total else 0
        value = (node.raw + total * weighted) / (total + 1)
    q = np.where(visited, node.q, value)
    if shape.rescale:
        q = (q - q.min()) / max(q.max() - q.min(), 1e-8)
    return (50 + node.counts.max()) * 0.1 * q


def puct(node):
    factor = math.sqrt(node.visits) * (1.25 + math.log((node.visits + 19652 + 1) / 19652))
    known = np.append(node.q[node.counts > 0], node.value)
    low, high = known.min(), known.max()
    q = np.where(node.counts > 0, node.q, low)
    return (q - low) / max(high - low, 1e-8) + factor * node.prior / (node.counts + 1)


class Search:
    def __init__(self, shape, model, state, invalid, noise):
        self.shape, self.model, self.noise = shape, model, noise
        self.invalid = invalid if shape.invalid else np.zeros_like(invalid)
        self.margin = math.inf
        self.root = self.make(state)
        logits = self.root.logits
        if shape.puct:
            prior = (1 - shape.fraction) * softmax(logits) + shape.fraction * noise[1]
            logits = np.log(np.maximum(prior, TINY))
        if shape.invalid:
            logits = np.where(self.invalid, LOWEST, logits - logits.max())
        self.root.logits, self.root.prior = logits, softmax(logits)
        most = min(shape.considered, int((~self.invalid).sum()))
        self.considered = halving(most, shape.simulations)

    def make(self, state):
        return Node(state, self.model[1][state].astype(np.float64), float(self.model[2][state]))

    def best(self, score):
        first, second = np.sort(score)[:-3:-1] if len(score) > 1 else (score[0], -math.inf)
        if first > -math.inf:
            self.margin = min(self.margin, first - second)
        return int(np.argmax(score))

    def root_score(self, considered):
        score = self.noise[0] + (self.root.logits - self.root.logits.max())
        score = np.maximum(-1e9, score + completed_q(self.shape, self.root))
        score = np.where(self.root.counts == considered, score, -math.inf)
        return np.where(self.invalid, -math.inf, score)

    def choose(self, node, simulation, depth):
        if self.shape.puct:
            score = puct(node) + 1e-7 * self.noise[2][simulation, depth]
            return self.best(np.where(self.invalid & (depth == 0), -math.inf, score))
        if depth == 0:
            return self.best(self.root_score(self.considered[simulation]))
        policy = softmax(node.logits + completed_q(self.shape, node))
        return self.best(policy - node.counts / (1 + node.counts.sum()))

    def simulate(self, simulation):
        node, path = self.root, []
        while node is not None and len(path) < self.shape.depth:
            path.append((node, self.choose(node, simulation, len(path))))
            node = node.children[path[-1][1]]
        parent, action = path[-1]
        if node is None:
            node = parent.children[action] = self.make(self.model[0][parent.state, action])
        else:
            node.visits, node.value = node.visits + 1, node.raw
        value = node.value
        for parent, action in reversed(path):
            reward = float(self.model[3][parent.state, action])
            discount = float(self.model[4][parent.state, action])
            value = reward + discount * value
            parent.q[action] = reward + discount * parent.children[action].value
            parent.counts[action] += 1
            parent.value = (parent.value * parent.visits + value) / (parent.visits + 1)
            parent.visits += 1


def smallest_margin(shape, model, state, invalid, noise):
    """The least difference between the best score and the next of all decisions of one game."""
    search = Search(shape, model, state, invalid, noise)
    for simulation in range(shape.simulations):
        search.simulate(simulation)
    if not shape.puct:
        search.best(search.root_score(search.root.counts.max()))
        return search.margin
    counts = search.root.counts
    logits = np.log(np.maximum(counts / counts.sum(), TINY))
    search.best(search.noise[0] + (logits - logits.max()) / shape.temperature)
    return search.margin
