"""What a site's owner publishes for crawlers: a folder, and rows of a database, with what has changed of them.

It is a program of its own (`scrawler serve-site`), which knows nothing of crawls. `folder` and `rows` say what there
is, `scanner` holds that against the `catalogue`, where each change becomes a line of a list, and `lists` and `dumps`
write what crawlers read of it, by ResourceSync (ANSI/NISO Z39.99-2017) and as a sitemap. `site` answers with these,
with files, and with pages that are made of rows; `app` puts it behind HTTP; `signing`, `rate` and `connections` keep
off whoever may not ask, asks too much, or never ends.
"""
