"""Marks this folder as data of the package (`scrawler.input_urls`); there is no code in it."""
