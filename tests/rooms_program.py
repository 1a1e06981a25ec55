"""What runs with a part of the package: imports all that is left of it, and crawls. Started by tests alone.

Each line of its input is JSON: the folder of a crawl, and its seeds. It answers with a line each: the URLs of fetched
pages, or what was raised. A fork does the work. What it has imported of other packages its parent imports as well, for
all forks that follow; of this one it imports nothing.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any


def crawled(folder: str, seeds: list[str]) -> list[str]:
    import scrawler

    assert scrawler.__file__ == os.path.join(sys.argv[1], "scrawler", "__init__.py"), scrawler.__file__
    for module in pkgutil.walk_packages(scrawler.__path__, "scrawler."):
        if not module.name.endswith(("__main__", "child_process")):
            importlib.import_module(module.name)
    from scrawler.app import run_crawl
    from scrawler.settings import make_settings

    given: dict[str, Any] = {
        "db": f"sqlite:///{folder}/crawl.db",
        "pages_dir": f"{folder}/pages",
        "output_dir": folder,
        "delay": 0,
        "patience": 0,
        "threads": 2,
        "allow_private": True,
        "user_agent": "TestCrawler/1.0 (+http://127.0.0.1/)",
    }
    with scrawler.Crawl(settings=make_settings(given)) as crawl:
        crawl.add(seeds)
        run_crawl(crawl.settings, lambda progress: None, threading.Event())
        return [page.url for page in crawl.pages(result="fetched")]


def answer(words: str, told: int) -> None:
    try:
        said = crawled(*json.loads(words))
    except BaseException:
        said = traceback.format_exc()
    print(json.dumps(said), flush=True)
    others = [name for name in sys.modules if name.partition(".")[0] != "scrawler"]
    with open(told, "w") as parent:
        json.dump(others, parent)
    os._exit(0)


def main() -> None:
    for words in sys.stdin:
        telling, told = os.pipe()
        if not os.fork():
            answer(words, told)
        os.close(told)
        with open(telling) as fork:
            others = fork.read()
        _, status = os.wait()
        if status:
            print(json.dumps(f"it has died ({status})"), flush=True)
            continue
        for name in json.loads(others):
            with suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()  # each fork would go through it, and copy it


if __name__ == "__main__":
    main()
