"""The settings of agents, and of what carries URLs from machine to machine."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from scrawler.model.partitions import PartitionKind
from scrawler.model.scope import Boundary
from scrawler.settings.kinds import DAY, Allowed, FeatureSettings, FileName, Own, Seconds, Secret, SharedSecret

_HIGHEST_PORT = 65_535


def _checked_communicator(value: SecretStr | None) -> SecretStr | None:
    """Refuse what names no communicator. Raises ValueError, without the value, which may hold a password."""
    text = "db" if value is None else value.get_secret_value()
    scheme, separator, rest = text.partition("://")
    if text == "db":
        return value
    if (
        scheme == "tcp"
        and separator
        and not re.fullmatch(r"(?:(?:[A-Za-z0-9._*-]+|\[[0-9A-Fa-f:.]+\]):)?[0-9]{1,5}", rest)
    ):
        raise ValueError("not tcp://[HOST:]PORT")
    if scheme == "tcp" and int(rest.rpartition(":")[2]) > _HIGHEST_PORT:
        raise ValueError("not a port")
    if not (separator and rest and scheme in ("tcp", "amqp", "amqps", "redis", "rediss")):
        raise ValueError("not a communicator")
    return value


CommunicatorUrl = Annotated[
    SecretStr | None,
    AfterValidator(_checked_communicator),
    Secret(),
    Allowed("db, tcp://[HOST:]PORT, or the URL of a broker such as amqp://user:password@host/ or redis://host/0"),
]


def _checked_capacity(value: object) -> object:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if text != "auto" and not (isinstance(text, str) and re.fullmatch(r"[1-9][0-9]?|100", text, re.ASCII)):
        raise ValueError("not a capacity")
    return text


AgentName = Annotated[str | None, Allowed("1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit")]
Capacity = Annotated[str, BeforeValidator(_checked_capacity), Allowed("auto, or a whole number from 1 to 100")]


class ClusterSettings(FeatureSettings):
    """What a machine is called and takes, who the agents of a crawl are, and how machines send each other URLs."""

    agent: Annotated[AgentName, Own()] = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Identifier of the machine, by which it gets the same sites when it is started again; none: its"
        " name in `scrawler machines`.",
    )
    capacity: Capacity = Field(
        "1", description="Share of the crawl that the machine takes, compared with others; auto: by disk and bandwidth."
    )

    agents: Annotated[FileName, Own()] = Field(
        None,
        description="File with the agents of a crawl without a common database, a line each: NAME tcp://HOST:PORT"
        " [CAPACITY] [DATABASE]. Each has a database of its own, and the sites that consistent hashing gives it;"
        " --agent says which of them this is.",
    )
    agents_beat: Seconds = Field(1.0, ge=0.05, le=60, description="Time between two signs of life of an agent.")
    agents_suspect: Seconds = Field(
        5.0, ge=0.1, le=3600, description="Silence after which an agent is suspected: nothing is sent to it."
    )
    agents_dead: Seconds = Field(
        20.0, ge=0.2, le=DAY, description="Silence after which an agent is dead: its sites are its heirs'."
    )

    send_wait: Seconds = Field(
        5.0, ge=0, le=3600, description="Longest time for which a communicator waits until there are so many."
    )
    send_list_max: int = Field(
        500,
        ge=1,
        le=100_000,
        description="With mode exchange: URLs of other sites with which a site is committed early, which are taken out"
        " of inboxes at a time, and which a communicator sends at a time.",
    )
    communicator: CommunicatorUrl = Field(
        None,
        description="With mode exchange: what carries URLs to the machines that own their sites: the database (db; none"
        " is the same), machines directly, each listening at an address of its own (at 127.0.0.1 without HOST, at"
        " all with *), or a broker.",
    )
    exchange_secret: SharedSecret = Field(
        None, description="Secret that all machines share, by which they sign what they send each other."
    )
    exchange_secret_file: Annotated[FileName, Own()] = Field(
        None,
        description="File with the secret that all machines, or agents, share, 16 characters at least; others are not"
        " heard.",
    )

    @model_validator(mode="before")
    @classmethod
    def _apply_subsites(cls, values: Any) -> Any:
        """Let links from one sub-site to another stay in the crawl, and nothing else, where sub-sites are divided."""
        if isinstance(values, dict) and values.get("partition") == PartitionKind.SUBSITE:
            return {"boundary": Boundary.DOMAIN} | values
        return values
