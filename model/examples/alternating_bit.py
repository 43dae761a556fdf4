"""The alternating bit protocol over channels that lose messages, after the module in Lamport's "Specifying Systems"."""

from rocketproof_model import ANY, Body, Expr, Int, Model, SeqOf

SCOPES = {"two": {"data": 2, "room": 2}, "three": {"data": 3, "room": 3}}


def model(data: int = 2, room: int = 2) -> Model:
    m = Model("alternating bit")
    Data, Bit = m.index("Data", data), Int(0, 1)
    messages, acks = m.var("messages", SeqOf((Bit, Data), room), init=()), m.var("acks", SeqOf(Bit, room), init=())
    sending, acked, received = (m.var(name, Bit, init=ANY) for name in ("sending", "acked", "received"))
    sent, got = (m.var(name, Data, init=ANY) for name in ("sent", "got"))
    m.initially((acked == sending) & (received == sending))

    @m.action(d=Data)
    def send(a: Body, d: Expr) -> None:
        """The sender sends a new value, as the last one was acknowledged."""
        a.guard("acknowledged", acked == sending, "the last value was acknowledged")
        a.bound("room", ~messages.is_full, "the channel has room")
        a.set(sent, d)
        a.set(sending, 1 - sending)
        a.set(messages, messages.append((1 - sending, d)))

    @m.action(fair="weak")
    def send_again(a: Body) -> None:
        """The sender sends its value again."""
        a.guard("not acknowledged", acked != sending, "the last value was not acknowledged")
        a.bound("room", ~messages.is_full, "the channel has room")
        a.set(messages, messages.append((sending, sent)))

    @m.action(fair="strong")
    def receive(a: Body) -> None:
        """The receiver takes a message."""
        a.guard("message", ~messages.is_empty, "there is a message")
        a.set(received, messages.head[0])
        a.set(got, messages.head[1])
        a.set(messages, messages.tail)

    @m.action(fair="weak")
    def acknowledge(a: Body) -> None:
        """The receiver sends the bit that it has."""
        a.bound("room", ~acks.is_full, "the channel has room")
        a.set(acks, acks.append(received))

    @m.action(fair="strong")
    def hear(a: Body) -> None:
        """The sender takes an acknowledgement."""
        a.guard("acknowledgement", ~acks.is_empty, "there is an acknowledgement")
        a.set(acked, acks.head)
        a.set(acks, acks.tail)

    @m.action(k=Int(0, room - 1))
    def lose_message(a: Body, k: Expr) -> None:
        """A message is lost."""
        a.guard("there", k < messages.length, "there is such a message")
        a.set(messages, messages.without(k))

    @m.action(k=Int(0, room - 1))
    def lose_ack(a: Body, k: Expr) -> None:
        """An acknowledgement is lost."""
        a.guard("there", k < acks.length, "there is such an acknowledgement")
        a.set(acks, acks.without(k))

    for d in range(data):
        m.leads_to(f"delivered {d}", (sent == d) & (sending != acked), got == d, f"value {d} arrives")
    return m
