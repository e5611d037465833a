"""Start a keeper: `python -m tradewind.live.worker FD`, with a socket to the engine under that number."""

import socket
import sys

from tradewind.live.worker.keeper import keep

if __name__ == "__main__":
    keep(socket.socket(fileno=int(sys.argv[1])))
