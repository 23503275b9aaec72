"""A Foxglove client that reads topics and drops them, for measurements."""
import json
import os

from websocket import WebSocket


def foxglove_client(link, topics):
    """Reads all samples of the topics, in a process of its own. Ends with the server or the test."""
    socket = WebSocket("127.0.0.1", link.port, f"/?token={link.token}", protocol="foxglove.sdk.v1", timeout_s=300)
    channels = {}
    while not set(topics) <= set(channels):  # a large world is advertised in parts
        message = socket.receive()
        if isinstance(message, str) and json.loads(message)["op"] == "advertise":
            channels.update((each["topic"], each["id"]) for each in json.loads(message)["channels"])
    socket.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": number, "channelId": channels[topic]} for number, topic in enumerate(topics)]}))
    try:
        while True:
            socket.receive()
    except (EOFError, OSError):
        pass


def start_foxglove_client(link, topics):
    """In a process of its own; its pid."""
    pid = os.fork()
    if pid == 0:
        foxglove_client(link, topics)
        os._exit(0)
    return pid
