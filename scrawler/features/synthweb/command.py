"""The command that serves a synthetic web, for `python -m scrawler.features.synthweb` and for the command line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scrawler.errors import ScrawlerError
from scrawler.features.synthweb.server import serve
from scrawler.features.synthweb.shop import Shop
from scrawler.features.synthweb.shop_server import serve_shop, shop_home
from scrawler.features.synthweb.spec import Hosts, Validators, WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

if TYPE_CHECKING:
    from scrawler.features.synthweb.faults.server import FaultWeb
    from scrawler.features.synthweb.traps.server import TrapWeb

_FILE = click.Path(dir_okay=False, path_type=Path)
_DEFAULT = WebSpec()


@click.command("synthweb")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8400, show_default=True, help="Where to serve; 0: a free one."
)
@click.option("--seed", default=_DEFAULT.seed, show_default=True, help="Number from which the web is made.")
@click.option("--sites", default=_DEFAULT.sites, show_default=True, help="Number of sites.")
@click.option("--mean-pages", default=_DEFAULT.mean_pages, show_default=True, help="Mean pages of a site (Pareto).")
@click.option("--max-pages", default=_DEFAULT.max_pages, help="Pages of the largest site. [default: 50 times the mean]")
@click.option("--equal", is_flag=True, help="All sites have the mean number of pages.")
@click.option("--page-bytes", default=_DEFAULT.page_bytes, show_default=True, help="Mean size of a page in bytes.")
@click.option("--links", default=_DEFAULT.links, show_default=True, help="Mean number of links on a page.")
@click.option(
    "--latency-ms",
    "--latency",
    "latency_ms",
    default=_DEFAULT.latency_ms,
    show_default=True,
    help="Mean answering time in milliseconds.",
)
@click.option(
    "--latency-spread",
    default=_DEFAULT.latency_spread,
    show_default=True,
    help="How far sites differ in it (sigma of its logarithm); 0: not at all.",
)
@click.option("--slow-share", default=_DEFAULT.slow_share, show_default=True, help="Share of pages that take seconds.")
@click.option("--slow-sites", default=_DEFAULT.slow_sites, show_default=True, help="Share of sites that have them.")
@click.option(
    "--slow-ms", default=_DEFAULT.slow_ms, show_default=True, help="Mean answering time of a slow page; half at least."
)
@click.option(
    "--dead-share", default=_DEFAULT.dead_share, show_default=True, help="Share of sites whose hosts never answer."
)
@click.option(
    "--bandwidth", default=_DEFAULT.bandwidth, help="Bytes a second over all connections. [default: no limit]"
)
@click.option("--hidden", default=_DEFAULT.hidden, show_default=True, help="Share of pages the home page leads not to.")
@click.option(
    "--alias-every", default=_DEFAULT.alias_every, show_default=True, help="Every n-th site redirects; 0: none does."
)
@click.option(
    "--hosts",
    type=click.Choice([kind.value for kind in Hosts]),
    default=_DEFAULT.hosts.value,
    show_default=True,
    help="How sites differ: by address, by name (needs --resolve), or by port.",
)
@click.option("--changes", default=_DEFAULT.changes, show_default=True, help="Mean changes of a page a day; 0: none.")
@click.option(
    "--change-spread",
    default=_DEFAULT.change_spread,
    show_default=True,
    help="How far pages differ in it (sigma of its logarithm); 0: not at all.",
)
@click.option("--still", default=_DEFAULT.still, show_default=True, help="Share of pages that never change.")
@click.option("--periodic", default=_DEFAULT.periodic, show_default=True, help="Share that changes at a fixed period.")
@click.option("--bursty", default=_DEFAULT.bursty, show_default=True, help="Share that changes in bursts.")
@click.option("--coming", default=_DEFAULT.coming, show_default=True, help="Share of leaf pages that come and go.")
@click.option(
    "--validators",
    type=click.Choice([kind.value for kind in Validators]),
    default=_DEFAULT.validators.value,
    show_default=True,
    help="ETag and Last-Modified of pages; with true ones comes 304.",
)
@click.option("--noisy", is_flag=True, help="Each answer has a date, a counter and a token in it that mean nothing.")
@click.option(
    "--time-scale", default=_DEFAULT.time_scale, show_default=True, help="Seconds of the web's time in each second."
)
@click.option("--epoch", default=_DEFAULT.epoch, help="Seconds since 1970 when its time begins. [default: the start]")
@click.option("--clock", type=_FILE, help="Read the web's time, in seconds, from this file at each request.")
@click.option("--seeds-file", type=_FILE, help="Write the seed URLs to this file.")
@click.option(
    "--seeds-per-site", type=click.IntRange(1), default=1, show_default=True, help="Seeds of a site in that file."
)
@click.option("--log", type=_FILE, help="Append a line for every request to this file.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of processes.")
@click.option("--share-port", is_flag=True, help="Let other processes serve at the same port.")
@click.option("--traps", is_flag=True, help="Serve the trap web instead: endless spaces beside real pages.")
@click.option("--faults", is_flag=True, help="Serve the fault web instead: one path a misbehaviour.")
@click.option("--shop", is_flag=True, help="Serve a shop instead, most rows of which stand behind its search form.")
@click.option(
    "--rows", type=click.IntRange(10, 1_000_000), default=5_000, show_default=True, help="Rows of the shop, pages each."
)
@click.option("--stop-with-stdin", is_flag=True, help="Stop at the end of standard input.")
def synthweb(
    port: int,
    seeds_file: Path | None,
    seeds_per_site: int,
    log: Path | None,
    workers: int,
    share_port: bool,
    traps: bool,
    faults: bool,
    shop: bool,
    rows: int,
    stop_with_stdin: bool,
    hosts: str,
    clock: Path | None,
    validators: str,
    **numbers: Any,
) -> None:
    """Serve a deterministic synthetic web on loopback addresses, until interrupted.

    The trap web and the fault web are always the same: of the options only --port, --seeds-file and --stop-with-stdin
    hold for them; for the shop --rows and --seed as well. A crawler needs --allow-private to fetch from any of these.
    """
    if traps + faults + shop > 1:
        raise click.UsageError("--traps, --faults and --shop are different webs: give one of them")
    if shop:

        def shop_ready(port: int) -> None:
            _tell("shop", 1, port, [shop_home(port)], seeds_file)

        serve_shop(Shop(numbers["seed"], rows), port, stop_with_stdin=stop_with_stdin, ready=shop_ready)
    elif traps:
        from scrawler.features.synthweb.traps.server import (
            BY_ADDRESS,  # what it serves is made then, as below
            serve_traps,
        )

        def traps_ready(web: TrapWeb) -> None:
            _tell("trap web", len(BY_ADDRESS), web.port, web.sites(BY_ADDRESS), seeds_file)

        serve_traps(port, stop_with_stdin=stop_with_stdin, ready=traps_ready)
    elif faults:
        from scrawler.features.synthweb.faults.server import (
            serve_faults,  # its answers are made then: two thirds of a start
        )

        def faults_ready(web: FaultWeb) -> None:
            _tell("fault web", len(web.seeds()), web.port, web.seeds(), seeds_file)

        serve_faults(port, stop_with_stdin=stop_with_stdin, ready=faults_ready)
    else:

        def ready(web: SyntheticWeb) -> None:
            seeds = (url for site in range(web.spec.sites) for url in web.seeds_of(site, seeds_per_site))
            _tell("synthetic web", web.spec.sites, web.port, seeds, seeds_file)

        spec = WebSpec(hosts=Hosts(hosts), validators=Validators(validators), **numbers)
        serve(
            spec,
            port,
            log=log,
            clock=clock,
            workers=workers,
            share_port=share_port,
            stop_with_stdin=stop_with_stdin,
            ready=ready,
        )


def _tell(web: str, sites: int, port: int, seeds: Iterable[str], seeds_file: Path | None) -> None:
    """Say that a web can be asked, after its seeds are written."""
    seeds = iter(seeds)
    first = next(seeds)
    if seeds_file is not None:
        _write_seeds(chain([first], seeds), seeds_file)
    written = f", seeds in {seeds_file}" if seeds_file else ""
    click.echo(f"{web} of {sites} sites at port {port}, first {first}{written}")


def _write_seeds(seeds: Iterable[str], file: Path) -> None:
    try:
        with file.open("w", encoding="ascii") as out:
            out.writelines(f"{url}\n" for url in seeds)
    except OSError as error:
        raise ScrawlerError(f"synthetic web: cannot write the seeds file {file}: {error.strerror}") from error
