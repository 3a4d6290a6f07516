"""The same scripts, in the same states, at the Redis door and at Redis itself: the same replies and the same keys.

FILE HOLDFAST [seed]. Random scripts of the kind that lock clients send are made from a grammar; the seed is printed."""

import os
import random
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
ROUNDS = 300


class Maker:
    """Makes scripts. A value is only set where the key has that value or none: there the two must agree."""

    def __init__(self, chance):
        self.chance = chance

    def pick(self, *choices):
        return self.chance.choice(choices)

    def key(self):
        return self.pick("KEYS[1]", "KEYS[2]", "KEYS[#KEYS]")

    def number(self):
        return self.pick("1", "60000", "tonumber(ARGV[2])", "ARGV[2] + 1", "#KEYS", "2 * 3 - 1", "7 % 4", "-1")

    def look(self):
        return self.pick(f"redis.call('get', {self.key()})", f"redis.call('exists', {self.key()})",
                         f"redis.call('exists', {self.key()}, {self.key()})", f"redis.call('type', {self.key()}).ok",
                         f"redis.call('mget', unpack(KEYS))", f"redis.call('getrange', {self.key()}, 0, 1)")

    def change(self):
        key = self.key()
        return self.pick(f"redis.call('set', {key}, ARGV[1], 'NX', 'PX', 60000)", f"redis.call('setnx', {key}, ARGV[1])",
                         f"redis.call('del', {key})", f"redis.call('pexpire', {key}, 60000)",
                         f"redis.call('del', unpack(KEYS))", f"redis.call('persist', {key})",
                         f"redis.call('set', {key}, redis.call('get', {key}) or ARGV[1], 'PX', ARGV[2])")

    def value(self, depth=0):
        simple = ["1", "'x'", "true", "false", "nil", "ARGV[1]", "#ARGV", self.number(), self.look(), self.change(),
                  "{1, 'two', false}", "redis.status_reply('FINE')", "string.sub(ARGV[1], 1, 2)", "type(KEYS)"]
        if depth > 2:
            return self.chance.choice(simple)
        deep = [f"({self.value(depth + 1)} and {self.value(depth + 1)})", f"({self.value(depth + 1)} or {self.value(depth + 1)})",
                f"(not {self.value(depth + 1)})", f"({self.value(depth + 1)} == {self.value(depth + 1)})"]
        return self.chance.choice(simple + deep)

    def condition(self):
        return self.pick(f"redis.call('get', {self.key()}) == ARGV[1]", f"redis.call('exists', {self.key()}) == 0",
                         f"not redis.call('get', {self.key()})", f"{self.number()} > 2", self.value(1),
                         f"redis.call('pttl', {self.key()}) < 0")

    def statement(self, depth=0):
        kinds = [lambda: f"{self.change()}", lambda: f"n = {self.number()}",
                 lambda: f"local t = {{}} table.insert(t, {self.number()}) n = #t"]
        if depth < 3:
            kinds += [lambda: f"if {self.condition()} then {self.block(depth + 1)} else {self.block(depth + 1)} end",
                      lambda: f"if {self.condition()} then return {self.value()} end",
                      lambda: f"for i, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[1] then n = n + i end end",
                      lambda: f"for i = 1, 3 do {self.statement(depth + 1)} end"]
        return self.chance.choice(kinds)()

    def block(self, depth=0):
        return " ".join(self.statement(depth) for _ in range(self.chance.randrange(1, 4)))

    def script(self):
        return f"local n = 0 {self.block()} return {self.pick('n', self.value(), self.look())}"


def run(client, script, keys, arguments):
    try:
        return client.eval(script, len(keys), *keys, *arguments)
    except redis.ResponseError:
        return "error"  # the texts differ: each server tells of its own script engine


def state(client):
    times = [client.pttl(key) for key in KEYS]
    return [(client.get(key), time if time < 0 else (time + 2_500) // 5_000) for key, time in zip(KEYS, times)]


def main():
    server.PROGRAM = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    ours, theirs = server.Holdfast("--memory"), server.Redis()
    clients = [redis.Redis(port=ours.port), redis.Redis(port=theirs.port)]
    errors = 0
    try:
        for number in range(ROUNDS):
            for client in clients:
                client.delete(*KEYS)
            for key in KEYS:
                value, time = chance.choice([None, "me", "you"]), chance.choice([None, 30_000])
                for client in clients:
                    if value:
                        client.set(key, value, px=time)
            script = Maker(chance).script()
            keys, arguments = chance.sample(KEYS, 2), [chance.choice(VALUES), chance.choice(["60000", "30000"])]
            replies = [run(client, script, keys, arguments) for client in clients]
            states = [state(client) for client in clients]
            errors += replies[0] == "error"
            if replies[0] != replies[1] or states[0] != states[1]:
                sys.exit(f"round {number} differs:\n{script}\nkeys {keys} arguments {arguments}\n"
                         f"holdfast {replies[0]!r} {states[0]}\nredis    {replies[1]!r} {states[1]}")
    finally:
        ours.stop()
        theirs.stop()
    print(f"{ROUNDS} scripts agree; {errors} of them end with an error in both")


if __name__ == "__main__":
    main()
