"""Orders of a crawl over a known web."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.quality import ORDERS, ByHost, Graph, crawl, pagerank, scale_free, synthetic


def test_pagerank_solves_its_equations() -> None:
    """Who surfs follows any link of a page, or, by 15 % and where there is none, goes to any page."""
    links = [*scale_free(200, 1).links, []]
    count = len(links)
    steps = np.full((count, count), 0.15 / count)
    for page, aims in enumerate(links):
        for aim in aims or range(count):
            steps[page, aim] += 0.85 / len(aims or range(count))
    rank = pagerank(links, 200)
    assert rank.sum() == pytest.approx(1)
    assert np.allclose(rank @ steps, rank, atol=1e-10)


@pytest.mark.parametrize("graph", [scale_free(400, 2), synthetic(400, 2)], ids=["scale-free", "synthetic"])
@pytest.mark.parametrize("way", ORDERS)
def test_every_order_fetches_every_page_once(way: str, graph: Graph) -> None:
    ranks = pagerank(graph.links)
    fetched = list(crawl(graph, ORDERS[way](graph, ranks, 1)))
    assert len(fetched) == len(set(fetched))
    assert set(fetched) == set(crawl(graph, ORDERS["breadth-first, one list"](graph, ranks, 1)))


def test_hosts_take_turns_and_each_is_breadth_first() -> None:
    links = [[2, 1], [4], [3], [], [5], []]
    graph = Graph("", [0, 1, 0, 0, 1, 1], links, [0, 1], [False] * 6)
    assert list(crawl(graph, ByHost(graph, 2))) == [0, 1, 2, 4, 3, 5]
    assert list(crawl(graph, ByHost(graph, 1))) == [0, 2, 3, 1, 4, 5]


def test_a_scale_free_web_is_one() -> None:
    """A few pages have many links, and all can be reached from the first ones."""
    graph = scale_free(2_000, 3)
    degrees = np.bincount([aim for aims in graph.links for aim in aims], minlength=2_000)
    assert degrees.max() > 30 * np.median(degrees)
    ways = ORDERS["breadth-first, one list"](graph, degrees.astype(float), 1)
    assert len(list(crawl(graph, ways))) == 2_000
