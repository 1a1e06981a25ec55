"""How links are judged: analyzers of URLs, and the limits on their shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scrawler.settings import Settings
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filetype import refused_types
from scrawler.urls.refusals import Sample
from scrawler.urls.scope import ScopeRule
from scrawler.urls.steps import make_steps
from scrawler.urls.traps import UrlLimits


def analyzers(settings: Settings) -> Callable[..., UrlAnalyzer]:
    """Return what makes an analyzer, given a scope, aliases, a sample and the accepted types, by the settings."""
    steps, limits = make_steps(settings.normalise), url_limits(settings)
    length = settings.max_url_length

    def make(
        scope: ScopeRule,
        aliases: Mapping[str, str],
        sample: Sample | None,
        accept: tuple[str, ...] = settings.accept,
    ) -> UrlAnalyzer:
        return UrlAnalyzer(
            scope,
            max_length=length,
            steps=steps,
            limits=limits,
            refused_types=refused_types(accept),
            aliases=aliases,
            sample=sample,
        )

    return make


def make_analyzer(settings: Settings, scope: ScopeRule) -> UrlAnalyzer:
    """Make an analyzer that judges links as those of the crawl do."""
    return analyzers(settings)(scope, {}, None)


def url_limits(settings: Settings) -> UrlLimits:
    """Return the limits on the shape of a URL."""
    return UrlLimits(settings.max_segments, settings.max_repeats, settings.max_parameters)
