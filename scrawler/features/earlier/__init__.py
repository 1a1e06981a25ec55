"""Refers to the archives of earlier crawls (`dedup_from`): what they hold is not archived once more.

`building` opens the databases of these crawls. `sites` reads what they know of a site that is taken up, which is its
state then (`known`). `step` asks for pages by that, only if they have changed; an answer that nothing has is made whole
(`restoring`) by what the archive holds (`archives`), and of a payload that came over the wire a record is found there.

Who reads records finds those of earlier crawls by `referred`, and `lost` tells which are gone.
"""
