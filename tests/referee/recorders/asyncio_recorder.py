"""A client of the SDK for asyncio. Arguments: server, file of the token, name, seed, the beginning of the run in nanoseconds."""

import asyncio
import random
import sys

from lines import TTL, Lines

import holdfast
from holdfast import aio


async def cycle(client, lines, chance):
    name, shared, wait = lines.name(chance), chance.random() < 0.25, chance.choice([0, 0.5, 2])
    operation = lines.invoke("acquire", name, ttl_ms=int(TTL * 1000), wait_ms=max(int(wait * 1000), 1), shared=shared)
    try:
        guard = await client.lock(name, ttl=TTL, wait=wait, shared=shared).acquire()
    except holdfast.LockHeld as held:
        lines.refuse(operation, wait, held.holder or "")
        return
    except holdfast.HoldfastError as error:
        lines.end(operation, "unknown", text=str(error))
        return
    token, number = guard.lease.token, guard.fencing_token
    lines.end(operation, "ok", granted_token=token, number=number)
    for _ in range(chance.randrange(8)):
        await asyncio.sleep(chance.uniform(0, 0.6))
        operation = lines.invoke("look", name)
        if guard.is_held():
            lines.end(operation, "ok", holder=lines.client, number=number)
        else:
            lines.end(operation, "failed")
    operation = lines.invoke("release", name, token=token)
    try:
        await guard.release()
        lines.end(operation, "unknown" if guard.lost.is_set() else "ok")
    except holdfast.HoldfastError as error:
        lines.end(operation, "unknown", text=str(error))


async def main():
    server, token_file, name, seed, start_ns = sys.argv[1:6]
    chance, lines, life = random.Random(int(seed)), Lines("asyncio", name, int(start_ns)), 0
    while True:
        life += 1
        lines.client = f"{name}-{life}"
        async with aio.Client(server, token_file=token_file, owner=lines.client, timeout=2, retry_for=3) as client:
            await cycle(client, lines, chance)
        await asyncio.sleep(chance.uniform(0.01, 0.1))


asyncio.run(main())
