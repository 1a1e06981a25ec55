"""URLs between machines: communicators carry batches of them from the one that found them to the one that owns them.

A machine's *outbox* in the database has what is to be sent, written in the transaction of the page on which it stands.
The sender makes batches of it by receiver and hands them to a `Communicator`; the listener of the receiver takes them
in, and acknowledges a batch after the checkpoint that made it durable there. Only then is it out of the outbox. What is
not acknowledged is sent again; what its receiver does not own comes back, and goes to its site's inbox in the database.

    communicator   the interface, and what travels          envelope   how a message looks outside: signed
    door           judges what comes in from the network    sender     makes batches, keeps them until acknowledged
    tcp            direct, by ZeroMQ                        broker     by RabbitMQ or Redis
    carrying       makes them beside a machine              receiver   brings what comes in to its sites

With `db` there is no communicator: the page's own transaction puts a URL into the inbox of its site.
"""
