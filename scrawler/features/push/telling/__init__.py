"""How others are told of what visits have found: an Atom feed in a file, and webhooks; beside the machines of a run.

Changes come out of the table `url_change`, in which machines commit them; nothing of this is on their way. `atom`
writes a feed, `message` makes and signs what is sent to webhooks, `sender` sends it, `hooks` says what is sent when,
`feed_file` keeps a file up to date. `background` is the thread that does all of that, and once more at a run's end;
`telling` starts it where a run has anything to tell.
"""
