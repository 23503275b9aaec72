"""A WebSocket client with raw access, of the standard library: for hostile requests and for Chromium's debugging protocol."""
import base64
import os
import socket
import struct


class Refused(Exception):
    """The server did not switch protocols; the first line of its answer, or '' where it closed."""


class WebSocket:
    def __init__(self, host, port, path="/", protocol="otolith.v1", headers=None, timeout_s=300.0, buffer_bytes=None):
        self.socket = socket.socket()
        if buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        self.socket.settimeout(timeout_s)
        self.socket.connect((host, port))
        self.rest = b""
        self.close_code = None
        fields = {"Host": f"{host}:{port}", "Upgrade": "websocket", "Connection": "Upgrade",
                  "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Version": "13"}
        if protocol is not None:
            fields["Sec-WebSocket-Protocol"] = protocol
        fields.update(headers or {})
        lines = [f"GET {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items() if value is not None]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = self._until(b"\r\n\r\n")
        self.answer = answer.decode("latin1").split("\r\n")
        if " 101 " not in self.answer[0]:
            self.socket.close()
            raise Refused(self.answer[0])

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        self.rest += data

    def _until(self, mark):
        try:
            while mark not in self.rest:
                self._more()
        except EOFError:
            return b""
        head, self.rest = self.rest.split(mark, 1)
        return head

    def _take(self, count):
        while len(self.rest) < count:
            self._more()
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def send(self, data, opcode=None, final=True, mask=True):
        """A frame: text for str, else binary, unless `opcode` says otherwise."""
        payload = data.encode() if isinstance(data, str) else data
        opcode = (1 if isinstance(data, str) else 2) if opcode is None else opcode
        length = len(payload)
        head = bytes([(0x80 if final else 0) | opcode])
        bit = 0x80 if mask else 0
        if length < 126:
            head += bytes([bit | length])
        elif length < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", length)
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", length)
        if mask:
            key = os.urandom(4)
            repeated = (key * (length // 4 + 1))[:length]
            payload = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big") if length else b""
            head += key
        self.socket.sendall(head + payload)

    def receive(self):
        """The next message: str or bytes. EOFError at the end; close_code is then set."""
        parts, kind = [], None
        while True:
            first, second = self._take(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self._take(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self._take(8))[0]
            payload = self._take(length)
            opcode = first & 15
            if opcode == 8:
                self.close_code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
                raise EOFError
            if opcode == 9:
                self.send(payload, opcode=10)
                continue
            if opcode == 10:
                continue
            kind = opcode if opcode else kind
            parts.append(payload)
            if first & 0x80:
                data = b"".join(parts)
                return data.decode() if kind == 1 else data

    def receive_until_end(self):
        """Reads until the server closes, and answers its close frame; returns the close code, None without one."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            code = self.close_code
        if code is not None:
            self.send(struct.pack(">H", code), opcode=8)
            try:
                rest = self._take(1)
                raise AssertionError(f"{rest} after the close frame")
            except (EOFError, ConnectionError):
                pass
        return code

    def close(self):
        self.socket.close()
