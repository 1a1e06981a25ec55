"""The tables of what others push: keys, subscriptions, owners of sites, orders to webhooks."""

from __future__ import annotations

from sqlalchemy import Index, Table

from scrawler.store.schema.columns import (
    CLUSTERED,
    HASH,
    SHA256,
    bytes_column,
    index,
    metadata,
    number,
    row_id,
    small,
    tally,
    text_column,
    word,
)

webhook = Table(
    "webhook",
    metadata,
    bytes_column("url_hash", HASH, "BLAKE2b-128 of url", key=True),
    text_column("url", "changes are sent to it"),
    number("cursor_change", "all rows of url_change up to this id were delivered"),
    number("batch_to", "the message on its way goes up to this id; 0: there is none", default=0),
    word("message_id", 64, "its id, the same at each try", default=""),
    small("tries", "of this message, which have failed", default=0),
    number("next_at", "no try before", default=0),
    tally("delivered", "changes"),
    tally("messages", "that were delivered"),
    number("delivered_at", "when the last of them was; 0: none", default=0),
    word("error", 1000, "what went wrong at the last try; empty: nothing", default=""),
    number("error_at", "when; 0: never", default=0),
    word("holder", 255, "the process that sends, as machine.process ...", default=""),
    number("held_until", "... which others leave alone until then", default=0),
    **CLUSTERED,
)

push_key = Table(
    "push_key",
    metadata,
    bytes_column("key_hash", SHA256, "SHA-256 of a key for pings, which is 256 random bits", key=True),
    number("site_id"),
    text_column("host", "as it was given"),
    number("created_at"),
    number("used_at", "0: never", default=0),
    **CLUSTERED,
)

subscription = Table(
    "subscription",
    metadata,
    row_id(),
    number("site_id"),
    text_column("topic"),
    bytes_column("topic_hash", HASH),
    text_column("hub"),
    text_column("callback", "as the hub knows it: it ends with the token"),
    word("token", 64, "random: who knows it may answer for the hub"),
    word("secret", 64, "random: the hub signs with it"),
    word("state", 16, "asked, active, denied, leaving, left, failed"),
    number("asked_at", "when the hub was last asked"),
    number("lease_until", "0: there is no lease", default=0),
    number("next_at", "when the hub is to be asked again; 0: never", default=0),
    small("failures", "times in a row that it could not be asked", default=0),
    word("detail", 1000, "what went wrong", default=""),
    tally("deliveries", "messages that were signed by the hub"),
    tally("forged", "messages that were not"),
    Index("subscription_topic", "topic_hash", unique=True),
    Index("subscription_token", "token", unique=True),
    *index("subscription_next_at", "next_at"),
)

site_owner = Table(
    "site_owner",
    metadata,
    row_id(),
    number("site_id"),
    text_column("host", "with its port, where that is not the scheme's own"),
    bytes_column("token_hash", SHA256, "SHA-256 of the owner's token, which is 256 random bits"),
    word("proof", 8, "how it was shown last: file, meta, dns"),
    number("proved_at"),
    number("created_at"),
    Index("site_owner_token", "token_hash", unique=True),
)

submission = Table(
    "submission",
    metadata,
    number("owner_id", "site_owner.id", key=True),
    bytes_column("url_hash", HASH, key=True),
    text_column("url"),
    number("at", "when it was submitted, last"),
    Index("submission_at", "owner_id", "at"),
    **CLUSTERED,
)

listener = Table(
    "listener",
    metadata,
    row_id(),
    word("host", 255),
    small("pid"),
    word("process", 255, "as machine.process"),
    word("address", 255, "where it listens"),
    number("started_at"),
    number("heartbeat_at"),
    number("stopped_at", "0: it has not stopped in order", default=0),
)
