"""Declares figures for Prometheus."""

from scrawler.feature import Feature, Option

FEATURE = Feature(
    name="metrics",
    about="Serves figures of a crawl to Prometheus.",
    options={
        "metrics": Option(
            "Serve figures to Prometheus at /metrics, and at /health whether machines live; by default on loopback.",
            metavar="[HOST:]PORT",
            companion="scrawler.features.metrics.companion:metrics_at",
        )
    },
)
