"""Processes, pipes, threads, timeouts and event loops of the standard library; prints no times."""

import asyncio
import hashlib
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading


def square(number):
    return number * number


def pipes():
    text = bytes(range(256)) * 8000
    done = subprocess.run(["cat"], input=text, stdout=subprocess.PIPE, check=True)
    print("through cat:", hashlib.sha256(done.stdout).hexdigest())
    try:
        subprocess.run(["sleep", "10"], timeout=0.2, check=True)
    except subprocess.TimeoutExpired:
        print("timed out")


def waits():
    left, right = socket.socketpair()
    left.settimeout(0.05)
    for _ in range(10):
        try:
            left.recv(1)
        except TimeoutError:
            continue
        print("recv ended early")
    print("select:", sum(len(select.select([left], [], [], 0.03)[0]) for _ in range(10)))
    poller = select.epoll()
    poller.register(left, select.EPOLLIN)
    print("epoll:", sum(len(poller.poll(0.03)) for _ in range(10)))
    right.sendall(b"x" * 100)
    print("received:", len(left.recv(1000)))


def signals():
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    with tempfile.NamedTemporaryFile(dir=".") as file:
        for _ in range(100):
            file.write(b"y" * 128 * 1024)
            file.flush()
        os.fsync(file.fileno())
        print("written:", os.stat(file.name).st_size)
    signal.setitimer(signal.ITIMER_REAL, 0)


async def echo():
    async def serve(reader, writer):
        while line := await reader.readline():
            writer.write(line.upper())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    for word in ["one", "two", "three"]:
        writer.write(f"{word}\n".encode())
        print((await reader.readline()).decode().strip())
        await asyncio.sleep(0.02)
    writer.close()
    server.close()


def main():
    pipes()
    waits()
    signals()
    with multiprocessing.Pool(4) as pool:
        print("pool:", sum(pool.map(square, range(2000))))
    asyncio.run(echo())
    lock, total = threading.Lock(), [0]

    def add():
        for _ in range(5000):
            with lock:
                total[0] += 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("threads:", total[0])


if __name__ == "__main__":
    main()
