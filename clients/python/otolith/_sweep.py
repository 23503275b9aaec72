"""
The Python process of a worker of `otolith sweep`: calls the functions of the spec. Descriptor 3 is the memory file with the
records, 4 has the requests, 5 gets the replies. It needs NumPy, and does not load libotolith.
"""
import importlib.util
import json
import mmap
import os
import signal
import sys
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _dtype  # noqa: E402
import numpy as np  # noqa: E402

sys.path.pop(0)

MEMORY, REQUESTS, REPLIES = 3, 4, 5


def load(request):
    """The functions of the spec: (function, channels, columns)."""
    functions, modules = [], {}
    for index, entry in enumerate(request):
        path = os.path.abspath(entry["file"])
        if path not in modules:
            sys.path.insert(0, os.path.dirname(path))
            spec = importlib.util.spec_from_file_location(f"sweep_metrics_{index}", path)
            modules[path] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[path])
        function = getattr(modules[path], entry["function"], None)
        if not callable(function):
            raise ValueError(f"{path} has no function '{entry['function']}'")
        functions.append((function, entry["channels"], entry["columns"]))
    return functions


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def dtype_of(entry, known={}):
    """The dtype of a channel's samples; the same fields give the same object."""
    key = (entry["bytes"], tuple(map(tuple, entry["fields"])))
    if key not in known:
        fields = [types.SimpleNamespace(name=name.encode(), type=kind, count=count, offset=offset)
                  for name, kind, count, offset in entry["fields"]]
        known[key] = _dtype.sample_dtype(types.SimpleNamespace(fields=fields, field_count=len(fields), bytes=entry["bytes"]))
    return known[key]


def arrays_of(memory, channels):
    arrays = {}
    for topic, entry in channels.items():
        array = np.frombuffer(memory, dtype_of(entry), entry["count"], entry["offset"])
        arrays[topic] = array
    return arrays


def numbers_of(result, columns, name):
    """The result of a function, a mapping, a sequence or one number, as one number for each column."""
    if isinstance(result, dict):
        if set(result) != set(columns):
            raise ValueError(f"{name}() returned {sorted(result)}; the columns are {sorted(columns)}")
        result = [result[column] for column in columns]
    numbers = [float("nan") if number is None else float(number) for number in np.atleast_1d(np.asarray(result, dtype=object))]
    if len(numbers) != len(columns):
        raise ValueError(f"{name}() returned {len(numbers)} numbers for {len(columns)} columns")
    return numbers


def call(functions, memory, request):
    arrays = arrays_of(memory, request["channels"])
    values = {path: value_of(text) for path, text in request["values"].items()}
    run = types.SimpleNamespace(run=request["run"], seed=request["seed"], values=values)
    numbers = []
    for function, channels, columns in functions:
        result = function({topic: arrays[topic] for topic in channels}, run)
        numbers += numbers_of(result, columns, function.__name__)
    return "ok " + " ".join(map(repr, numbers))


def sentence(exception):
    return "error " + " ".join(f"{type(exception).__name__}: {exception}".split())


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(REPLIES, "w")
    os.dup2(2, 1)  # what a function prints goes to standard error
    functions, memory = None, None
    for line in os.fdopen(REQUESTS):
        request = json.loads(line)
        try:
            if functions is None:
                functions = load(request)
                reply = "ok"
            else:
                if memory is None or len(memory) != request["length"]:
                    memory = mmap.mmap(MEMORY, request["length"], prot=mmap.PROT_READ)
                reply = call(functions, memory, request)
        except Exception as exception:  # noqa: BLE001: a failed function is a failed run
            reply = sentence(exception)
        replies.write(reply + "\n")
        replies.flush()


main()
