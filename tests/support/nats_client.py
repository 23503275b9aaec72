"""A client of NATS' text protocol on one socket, as small as the tests need: subscribe, request, and the newest message of a subject."""
import base64
import json
import socket
import ssl


class Nats:
    def __init__(self, port, host="127.0.0.1", context=None, name="test", **login):
        self.socket = socket.create_connection((host, port), timeout=300)
        self.buffer = b""
        self.info = json.loads(self.line()[5:])
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.send(b"CONNECT " + json.dumps({"verbose": False, "name": name, "headers": True, "no_responders": True, **login}).encode() + b"\r\nPING\r\n")
        self.messages = []
        while self.step() != "PONG":
            pass

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the NATS server closed the connection")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def step(self):
        """Takes one operation; a message is added to `messages` as (subject, payload)."""
        words = self.line().split(b" ")
        if words[0] == b"PING":
            self.send(b"PONG\r\n")
        elif words[0] == b"-ERR":
            raise ConnectionError(b" ".join(words).decode())
        elif words[0] in (b"MSG", b"HMSG"):
            size, head = int(words[-1]), int(words[-2]) if words[0] == b"HMSG" else 0
            while len(self.buffer) < size + 2:
                self.more()
            self.messages.append((words[1].decode(), self.buffer[head:size]))
            self.buffer = self.buffer[size + 2:]
        return words[0].decode()

    def subscribe(self, subject, number=1):
        self.send(f"SUB {subject} {number}\r\nPING\r\n".encode())
        while self.step() != "PONG":
            pass

    def next(self):
        """The next message, oldest first."""
        while not self.messages:
            self.step()
        return self.messages.pop(0)

    def request(self, subject, payload=b""):
        inbox = "_INBOX.otolith.1"
        self.send(f"SUB {inbox} 99\r\nPUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
        while True:
            answers = [message for message in self.messages if message[0] == inbox]
            if answers:
                self.messages = [message for message in self.messages if message[0] != inbox]
                self.send(b"UNSUB 99\r\n")
                return json.loads(answers[0][1]) if answers[0][1] else {"error": "no responders"}
            self.step()

    def newest(self, stream, subject):
        """The newest message of a subject in a JetStream stream, or None."""
        reply = self.request(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"last_by_subj": subject}).encode())
        return base64.b64decode(reply["message"]["data"]) if "message" in reply else None


def client_context(ca, certificate=None, key=None):
    context = ssl.create_default_context(cafile=str(ca))
    context.check_hostname = False
    if certificate is not None:
        context.load_cert_chain(str(certificate), str(key))
    return context
