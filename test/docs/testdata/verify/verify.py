# Shows letters to a receiver and prints for each whether it verifies.
import importlib
import json
import sys

receiver = importlib.import_module(sys.argv[1])
for letter in json.load(sys.stdin):
    try:
        receiver.verify(letter["secret"], letter["headers"], letter["body"].encode(), letter["now"])
        print("true")
    except ValueError as error:
        if not str(error).startswith("webhook refused: "):
            raise
        print("false")
