"""What servers and owners of sites send: `scrawler listen`.

A message comes in at `app.py`, which limits it; `intake.py` judges its URLs and keeps them in the database, and only
then is it acknowledged. That somebody may send them is shown by `proofs.py` (IndexNow), `websub.py`, `owners.py`, or a
key (`intake.py`). Whatever has to be asked of a server goes through `asker.py`: its address is guarded, its robots.txt
obeyed, and each host has pauses. Machines take the URLs from the database, on this host or another.
"""
