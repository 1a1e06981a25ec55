"""What `Crawl` does with the pages of a crawl as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from scrawler.api.opened import OpenedCrawl
from scrawler.errors import SettingsError
from scrawler.features.texts.in_degree import InDegrees, Ranked
from scrawler.features.texts.packing import Packed
from scrawler.features.texts.packing import pack as pack_into
from scrawler.seeds.outputs import open_bytes, open_output

_PACKED = (".gz", ".zst")  # how names of files end that would be packed


def pack(
    crawl: OpenedCrawl,
    file: str | os.PathLike[str],
    *,
    texts: bool = False,
    on_progress: Callable[[Packed], None] = lambda packed: None,
) -> Packed:
    """Pack the crawl into a WACZ file, as `scrawler wacz` does; return what is in it.

    With `texts` pages are listed with their texts. Raises SettingsError for a file that the crawl needs,
    ScrawlerError where nothing is finished yet, or it cannot be written.
    """
    name = os.fspath(file)
    crawl.keep_clear(name)
    folder = Path(name).absolute().parent
    with crawl.reader() as reader, open_bytes(name) as raw:
        return pack_into(crawl.database, crawl.stored, reader, raw, folder, texts=texts, on_progress=on_progress)


def rank(
    crawl: OpenedCrawl,
    file: str | os.PathLike[str],
    *,
    archive: str | None = None,
    on_progress: Callable[[Ranked], None] = lambda ranked: None,
) -> Ranked:
    """Write what each fetched URL weighs by how many pages link to it, as `scrawler rank` does; for `rank=`.

    `archive` is as for `reader`. Pages whose records are gone are counted in what is returned. Raises
    NotCrawledError where the crawl kept no out-links, SettingsError for a file that the crawl needs, or that is
    to be packed, ScrawlerError where it cannot be written.
    """
    name = os.fspath(file)
    if name.lower().endswith(_PACKED):
        raise SettingsError(f"{name}: a file of ranks is read as plain text; choose a name without {Path(name).suffix}")
    crawl.keep_clear(name)
    with closing(InDegrees(on_progress)) as degrees:
        with crawl.reader(archive) as reader:
            degrees.count(crawl.database, reader)
        with open_output(name) as out:
            out.writelines(degrees.lines())
    return degrees.ranked
