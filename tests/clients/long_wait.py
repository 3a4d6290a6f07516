#!/usr/bin/env python3
"""Clients in three languages wait for one lock for longer than the ten minutes within which the server always answers.
They must be served in the order in which they came, so each of them must have kept its place in the queue.

    long_wait.py HOLDFAST [--minutes 11]

It takes eleven minutes of real time, so it is no part of the tests. The tests of the clients (S12) do the same with a
server of their own that answers at once.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import programs

sys.path.insert(0, str(programs.CLIENTS / "python/tests"))
import support  # noqa: E402
import holdfast  # noqa: E402

_WAITERS = {
    "python": (programs.prepare_python, """
import holdfast
with holdfast.Client(owner="python").lock("printer") as guard:
    print(guard.fencing_token)
"""),
    "javascript": (programs.prepare_javascript, """
import { Client } from "holdfast";
await new Client({ owner: "javascript" }).withLock("printer", ({ fencingToken }) => console.log(`${fencingToken}`));
"""),
    "go": (programs.prepare_go, """
package main

import (
	"context"
	"fmt"
	"log"

	holdfast "holdfast/clients/go"
)

func main() {
	client, err := holdfast.New(holdfast.Options{Owner: "go"})
	if err != nil {
		log.Fatal(err)
	}
	err = client.WithLock(context.Background(), "printer", holdfast.LockOptions{}, func(ctx context.Context) error {
		fmt.Println(holdfast.FencingToken(ctx))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
"""),
}


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def queue_of(client):
    return [waiter["owner_id"] for waiter in client.get("printer", queue=True).get("queue", [])]


def refusals(server):
    """How many requests for a lock the server has refused. `StillWaiting` is the only refusal that there is here."""
    metrics = urllib.request.urlopen(f"{server.url}/metrics").read().decode()
    return int(re.search(r'^lock_acquire_total\{result="fail"\} (\d+)$', metrics, re.M).group(1))


def start_waiters(client, url, folder):
    """One after the other: the next begins when the one before is in the queue."""
    waiters = {}
    for name, (prepare, text) in _WAITERS.items():
        own_folder = pathlib.Path(folder) / name
        own_folder.mkdir()
        waiters[name] = subprocess.Popen(prepare(own_folder, text), stdout=subprocess.PIPE, text=True,
                                         env=programs.environment(url))
        support.until(lambda: queue_of(client) == list(waiters), f"the queue {list(waiters)}")
        say(f"{name} waits")
    return waiters


def watch_the_queue(client, minutes):
    """Returns after that time, or with an error if somebody leaves the queue or loses its place."""
    until = holdfast.clock() + 60 * minutes
    while holdfast.clock() < until:
        time.sleep(1)
        queue = queue_of(client)
        if queue != list(_WAITERS):
            raise SystemExit(f"the queue is {queue}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=11)
    arguments = parser.parse_args()
    support.PROGRAM = str(arguments.holdfast.resolve())

    server = support.Server()
    client = holdfast.Client(server.url, owner="first")
    waiters = {}
    try:
        with tempfile.TemporaryDirectory() as folder, client.lock("printer") as guard:
            fences = [guard.fencing_token]
            waiters = start_waiters(client, server.url, folder)
            watch_the_queue(client, arguments.minutes)
            told_to_ask_again = refusals(server)
            say(f"after {arguments.minutes:g} minutes the queue is {', '.join(queue_of(client))}; the server has "
                f"answered StillWaiting {told_to_ask_again} times")
            guard.release()
            for name, waiter in waiters.items():
                output, _ = waiter.communicate(timeout=support.PATIENCE_S)
                fences.append(int(output))
                say(f"{name} held the lock under the fencing number {output.strip()}")
    finally:
        for waiter in waiters.values():
            waiter.kill()
            waiter.wait()
        server.end()
    if fences != sorted(fences):
        raise SystemExit("they were not served in the order in which they came")
    if told_to_ask_again < len(waiters):
        raise SystemExit("the wait was too short: the server has not told each of them to ask again")
    say("they were served in the order in which they came")


if __name__ == "__main__":
    main()
