"""Pages in headless Chromium: an answer goes in, and comes back with the document that its scripts made.

`BrowserDownloader` stands around a collector's downloader (`wrapping`): what that brings, if it is HTML of a host whose
pages are to be shown, it hands to the machine's `Browser` (`engine`), whose thread starts Chromium (`chromium`) when it
is first needed, and gives each page a context of its own (`page`). Chromium itself reaches nobody: it knows no name and
no way out, and each request that it makes is answered by `page_parts`, who asks for it, if at all, by a downloader of
this crawler (`fetcher`).
"""
