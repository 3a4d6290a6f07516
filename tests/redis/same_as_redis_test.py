"""The same scripts, in the same states, at the Redis door and at Redis itself: the same replies and the same keys.

FILE HOLDFAST WRITE_SCRIPTS [seed]. Random scripts are made from a grammar (tests/fuzz/script_grammar.h); the seed is
printed. A script that is beyond a limit of the Redis door is not sent to Redis, which might never end it."""

import os
import random
import subprocess
import sys

import server

try:
    import redis
except ImportError:
    redis = None
if redis is None or not server.Redis.is_there():
    print("\n*** Scripts were NOT compared with Redis: apt-get install redis-server python3-redis ***\n", file=sys.stderr)
    sys.exit(77)

KEYS = ["a", "b", "c"]
VALUES = ["me", "you", "7"]
ROUNDS = 1500

# What the Redis door refuses although Redis does it: limits, and lists that are not built as it wants.
OURS_ALONE = ["Error compiling script", "the script or transaction", "too deep", "nested more than",
              "cannot be put into another one", "within it or at its end"]


def run(client, script, keys, arguments):
    """The reply, and whether it is an error that only the Redis door knows."""
    try:
        return client.eval(script, len(keys), *keys, *arguments), False
    except redis.ResponseError as error:  # the texts differ: each server tells of its own script engine
        return "error", any(text in str(error) for text in OURS_ALONE)


def state(client):
    times = [client.pttl(key) for key in KEYS]
    return [(client.get(key), time if time < 0 else (time + 2_500) // 5_000) for key, time in zip(KEYS, times)]


def main():
    server.PROGRAM = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    print(f"seed {seed}")
    scripts = subprocess.run([sys.argv[2], str(seed), str(ROUNDS)], capture_output=True, text=True, check=True).stdout.splitlines()
    chance = random.Random(seed)
    ours, theirs = server.Holdfast("--memory"), server.Redis()
    clients = [redis.Redis(port=ours.port), redis.Redis(port=theirs.port)]
    errors = compared = 0
    try:
        for number, script in enumerate(scripts):
            for client in clients:
                client.delete(*KEYS)
            for key in KEYS:
                value, time = chance.choice([None, "me", "you"]), chance.choice([None, 30_000])
                for client in clients:
                    if value:
                        client.set(key, value, px=time)
            keys, arguments = chance.sample(KEYS, 2), [chance.choice(VALUES), chance.choice(["60000", "30000"])]
            reply, is_ours_alone = run(clients[0], script, keys, arguments)
            if is_ours_alone:
                continue
            replies = [reply, run(clients[1], script, keys, arguments)[0]]
            states = [state(client) for client in clients]
            compared += 1
            errors += reply == "error"
            if replies[0] != replies[1] or states[0] != states[1]:
                sys.exit(f"round {number} differs:\n{script}\nkeys {keys} arguments {arguments}\n"
                         f"holdfast {replies[0]!r} {states[0]}\nredis    {replies[1]!r} {states[1]}")
    finally:
        ours.stop()
        theirs.stop()
    print(f"{compared} scripts agree; {errors} of them end with an error in both; {ROUNDS - compared} are beyond a limit")
    if compared < ROUNDS / 3:
        sys.exit("too few scripts were compared")


if __name__ == "__main__":
    main()
