"""For each input line, send a number of messages with the Python client, which wraps the C++ client. Producer.java does the same in Java.

Arguments: name server, topic, messages per line, milliseconds per send. Of a message's position the client reports only the offset.
"""

import sys

from rocketmq.client import Message, Producer
from rocketmq.exceptions import RocketMQException


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


name_server, topic, times, millis = sys.argv[1:]
producer = Producer("producers", timeout=int(millis))
producer.set_namesrv_addr(name_server)
producer.start()
for line in sys.stdin:
    for number in range(int(times)):
        message = Message(topic)
        message.set_body(f"{line.strip()} {number}")
        try:
            sent = producer.send_sync(message)
        except RocketMQException as problem:
            tell(f"> {type(problem).__name__}")
        else:
            tell(f"> {'SEND_OK' if sent.status == 0 else sent.status.name} - - {sent.offset}")
    tell("end")
