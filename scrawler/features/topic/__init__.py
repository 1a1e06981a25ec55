"""Crawls what has to do with a topic first, or keeps only that.

`terms` scores texts and links by a list of weighted terms; `focus` is the step that scores each page, and the order in
which its links are listed; `feature` makes it as the settings say.
"""
