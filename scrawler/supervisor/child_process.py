"""`python -m scrawler.supervisor.child_process`: a machine process that was started by its command."""

from __future__ import annotations

from scrawler.references import load_for_good

if __name__ == "__main__":
    load_for_good("scrawler.supervisor.child:main")()
