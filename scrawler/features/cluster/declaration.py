"""Declares what many machines have beside one."""

from scrawler.feature import Command, Feature

_PARTITION = "scrawler.features.cluster.store.partitions:MappedPartition"

FEATURE = Feature(
    name="cluster",
    about="Divides sites among machines, lets these send each other URLs, and joins agents without a common database.",
    version=1,
    needed_by_rows=True,  # those of guests, and of outboxes
    settings="scrawler.features.cluster.settings:ClusterSettings",
    groups={
        "exchange": ("send_list_max", "communicator", "exchange_secret", "exchange_secret_file", "send_wait"),
        "machines": ("agent", "capacity", "agents", "agents_beat", "agents_suspect", "agents_dead"),
    },
    parts={
        "partition": dict.fromkeys(("dynamic", "modulo", "subsite", "consistent"), _PARTITION),
        "mode": {
            "exchange": "scrawler.features.cluster.modes:exchange",
            "cross-over": "scrawler.features.cluster.modes:cross_over",
        },
    },
    commands={
        "partition": Command("scrawler.features.cluster.cli_partition:partition", lists=True),
        "agents": Command("scrawler.features.cluster.cli_agents:agents", lists=True),
    },
    tables="scrawler.features.cluster.store.tables",
    hooks={
        "agents": "scrawler.features.cluster.agents.databases:open_agents",
        "build": "scrawler.features.cluster.build:build",
        "identity": "scrawler.features.cluster.identity:identity",
        "files": "scrawler.features.cluster.build:files",
        "prepare": "scrawler.features.cluster.build:prepare",
        "validate": "scrawler.features.cluster.build:validate",
    },
)
