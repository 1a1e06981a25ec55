"""Writes what is generated into the pages: python -m docsite."""

from __future__ import annotations

from docsite.places import filled, pages

if __name__ == "__main__":
    for path in pages():
        text = path.read_text(encoding="utf-8")
        anew = filled(text)
        if anew != text:
            path.write_text(anew, encoding="utf-8")
            print(f"written anew: {path}")
