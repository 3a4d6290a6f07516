package judge

import "testing"

func TestExclusiveLocks(t *testing.T) {
	check(t, []tale{
		{"one after the other", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 ann release x -> ok
40-50 bob acquire x ttl=1000 -> ok n=2`},
		{"two at once", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire x ttl=1000 -> ok n=2`},
		{"two at once are also seen without a search", "two holders", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire x ttl=1000 -> ok n=2`},
		{"other locks", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire y ttl=1000 -> ok n=2`},
		{"the release overlaps the next grant", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-60 ann release x -> ok
30-40 bob acquire x ttl=1000 -> ok n=2`},
		{"the release comes after the next grant", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
30-40 bob acquire x ttl=1000 -> ok n=2
50-60 ann release x -> ok`},
		{"a refusal while somebody holds it", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire x ttl=1000 -> refused holder=ann`},
		{"a refusal while nobody holds it", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-18 ann release x -> ok
20-30 bob acquire x ttl=1000 -> refused`},
		{"a refusal that names the wrong holder", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire x ttl=1000 -> refused holder=carl`},
		{"a refusal for one who waits", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-60 bob acquire x ttl=1000 wait=100 -> ok n=2
14-40 ann release x -> ok
50-55 carl acquire x ttl=1000 -> refused holder=bob`},
		{"it is seen as free while it is held", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob look x -> ok free`},
		{"it is seen with another number", "search", `
0-10 ann acquire x ttl=1000 -> ok n=5
20-30 bob look x -> ok holder=ann n=4`},
		{"a release that finds nothing while the lease lives", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 ann release x -> refused`},
		{"a release that worked twice", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 ann release x -> ok
40-50 ann release x -> ok`},
	})
}

func TestTheEndOfALease(t *testing.T) {
	check(t, []tale{
		{"after its TTL", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
990-1001 bob acquire x ttl=1000 -> ok n=2`},
		{"a moment too early", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
990-999 bob acquire x ttl=1000 -> ok n=2`},
		{"later than its TTL, as after a restart", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
5000-5010 bob acquire x ttl=1000 -> refused holder=ann
5020-5030 ann renew x ttl=1000 -> ok`},
		{"a renewal prolongs it", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
500-510 ann renew x ttl=1000 -> ok
1200-1210 bob acquire x ttl=1000 -> ok n=2`},
		{"a renewal without an answer may prolong it, or not", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
500-? ann renew x ttl=1000
1200-1210 bob acquire x ttl=1000 -> ok n=2`},
		{"a renewal without an answer does not shorten it", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
500-? ann renew x ttl=1000
800-810 bob acquire x ttl=1000 -> ok n=2`},
		{"renewed after it was granted to another one", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
1100-1110 bob acquire x ttl=1000 -> ok n=2
1120-1130 ann renew x ttl=1000 -> ok`},
		{"a renewal is refused too early", "search", `
0-10 ann acquire x ttl=1000 -> ok n=1
500-510 ann renew x ttl=1000 -> refused`},
		{"a renewal is refused after the TTL", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
1500-1510 ann renew x ttl=1000 -> refused`},
		{"ended by force", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 root force x -> ok
40-50 bob acquire x ttl=1000 -> ok n=2
60-70 ann renew x ttl=1000 -> refused`},
		{"without an end", "search", `
0-10 ann acquire x -> ok n=1
900000-900010 bob acquire x ttl=1000 -> ok n=2`},
		{"the grace is over", "", `
0-10 ann acquire x ttl=1000 grace=500 again -> ok
1400-1510 bob acquire x ttl=1000 grace=500 again -> ok`},
		{"granted in the grace of another one", "search", `
0-10 ann acquire x ttl=1000 grace=500 again -> ok
1200-1210 bob acquire x ttl=1000 grace=500 again -> ok`},
		{"had again in its own grace", "", `
0-10 ann acquire x ttl=1000 grace=500 again -> ok
1200-1210 ann acquire x ttl=1000 grace=500 again -> ok
2300-2310 bob acquire x ttl=1000 grace=500 again -> refused holder=ann`},
		{"a name releases what has ended, and what came after it may have ended, too", "", `
0-10 ann acquire x again -> ok
20-30 admin force x -> ok
40-50 bob acquire x ttl=1000 -> ok n=2
1050-1060 ann release x again -> ok`},
		{"a name releases what has ended while somebody else holds it", "search", `
0-10 ann acquire x again -> ok
20-30 admin force x -> ok
40-50 bob acquire x ttl=1000 -> ok n=2
900-910 ann release x again -> ok`},
	})
}

func TestUnknownResults(t *testing.T) {
	check(t, []tale{
		{"a grant that was never told explains a refusal", "", `
0-? ann acquire x ttl=1000
20-30 bob acquire x ttl=1000 -> refused holder=ann`},
		{"it explains nothing before it was asked for", "search", `
0-10 bob acquire x ttl=1000 -> refused holder=ann
20-? ann acquire x ttl=1000`},
		{"it need not have happened", "", `
0-? ann acquire x ttl=1000
20-30 bob acquire x ttl=1000 -> ok n=2`},
		{"a release without an answer", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-? ann release x
40-50 bob acquire x ttl=1000 -> ok n=2`},
		{"a release without an answer that was not done", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-? ann release x
40-50 bob acquire x ttl=1000 -> refused holder=ann`},
		{"a forced end without an answer", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
15-? root force x
40-50 bob acquire x ttl=1000 -> ok n=2`},
		{"two that were never told cannot both be held", "search", `
0-? ann acquire x ttl=1000
0-? bob acquire x ttl=1000
20-30 carl look x -> ok holder=ann
40-50 carl look x -> ok holder=bob
60-70 carl look x -> ok holder=ann`},
		{"the Redis door names a client that waits for a key that nobody holds", "", `
0-10 ann acquire y ttl=1000 -> ok n=1
12-400 bob acquire x,y ttl=1000 wait=300 -> refused
20-30 carl@redis look x -> ok holder=bob`},
		{"other doors name holders only", "search", `
0-10 ann acquire y ttl=1000 -> ok n=1
12-400 bob acquire x,y ttl=1000 wait=300 -> refused
20-30 carl look x -> ok holder=bob`},
		{"what was not done does nothing", "search", `
0-10 ann acquire x ttl=1000 -> failed
20-30 bob acquire x ttl=1000 -> refused holder=ann`},
	})
}

func TestFencingNumbers(t *testing.T) {
	check(t, []tale{
		{"a number goes back", "search", `
0-10 ann acquire x ttl=1000 -> ok n=7
20-30 ann release x -> ok
40-50 bob acquire x ttl=1000 -> ok n=6`},
		{"a number is given out twice", "search", `
0-10 ann acquire x ttl=1000 -> ok n=7
20-30 ann release x -> ok
40-50 bob acquire x ttl=1000 -> ok n=7`},
		{"a number goes back at another lock", "numbers grow", `
0-10 ann acquire x ttl=1000 -> ok n=7
20-30 bob acquire y ttl=1000 -> ok n=6`},
		{"requests that overlap are numbered as they come", "", `
0-50 ann acquire x ttl=1000 -> ok n=7
0-50 bob acquire y ttl=1000 -> ok n=6`},
	})
}

func TestSharedLocksAndSemaphores(t *testing.T) {
	check(t, []tale{
		{"shared with shared", "", `
0-10 ann acquire x shared ttl=1000 -> ok n=1
20-30 bob acquire x shared ttl=1000 -> ok n=2`},
		{"exclusive beside shared", "search", `
0-10 ann acquire x shared ttl=1000 -> ok n=1
20-30 bob acquire x ttl=1000 -> ok n=2`},
		{"shared beside exclusive", "two holders", `
0-10 ann acquire x ttl=1000 -> ok n=1
20-30 bob acquire x shared ttl=1000 -> ok n=2`},
		{"shared is refused beside shared", "search", `
0-10 ann acquire x shared ttl=1000 -> ok n=1
20-30 bob acquire x shared ttl=1000 -> refused holder=ann`},
		{"two permits of two", "", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=1000 -> ok n=2
40-50 carl acquire semaphore:s limit=2 ttl=1000 -> refused`},
		{"three permits of two", "search", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=1000 -> ok n=2
40-50 carl acquire semaphore:s limit=2 ttl=1000 -> ok n=3`},
		{"three permits of two are also seen without a search", "two holders", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=1000 -> ok n=2
40-50 carl acquire semaphore:s limit=2 ttl=1000 -> ok n=3`},
		{"a permit comes back", "", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=9000 -> ok n=2
900-1010 carl acquire semaphore:s limit=2 ttl=1000 -> ok n=3`},
		{"one permit comes back, and two are granted", "search", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=9000 -> ok n=2
900-1010 carl acquire semaphore:s limit=2 ttl=1000 -> ok n=3
900-1010 dora acquire semaphore:s limit=2 ttl=1000 -> ok n=4`},
		{"a permit is free, and refused", "search", `
0-10 ann acquire semaphore:s limit=2 ttl=1000 -> ok n=1
20-30 bob acquire semaphore:s limit=2 ttl=1000 -> refused`},
	})
}

func TestRangesAndSets(t *testing.T) {
	check(t, []tale{
		{"parts that do not overlap", "", `
0-10 ann acquire range:7:0-10 ttl=1000 -> ok n=1
20-30 bob acquire range:7:10-20 ttl=1000 -> ok n=2`},
		{"parts that overlap in one byte", "search", `
0-10 ann acquire range:7:0-11 ttl=1000 -> ok n=1
20-30 bob acquire range:7:10-20 ttl=1000 -> ok n=2`},
		{"parts of other files", "", `
0-10 ann acquire range:7:0-11 ttl=1000 -> ok n=1
20-30 bob acquire range:8:10-20 ttl=1000 -> ok n=2`},
		{"a part of a file that is held", "search", `
0-10 ann acquire inode:7 ttl=1000 -> ok n=1
20-30 bob acquire range:7:10-20 ttl=1000 -> ok n=2`},
		{"a part without an end", "search", `
0-10 ann acquire range:7:100- ttl=1000 -> ok n=1
20-30 bob acquire range:7:5000-5001 ttl=1000 -> ok n=2`},
		{"a refusal for a part that is free", "search", `
0-10 ann acquire range:7:0-10 ttl=1000 -> ok n=1
20-30 bob acquire range:7:10-20 ttl=1000 -> refused holder=ann`},
		{"a set beside its parts", "search", `
0-10 ann acquire a,b ttl=1000 -> ok n=1
20-30 bob acquire b ttl=1000 -> ok n=2`},
		{"a set is released as a whole", "", `
0-10 ann acquire a,b ttl=1000 -> ok n=1
12-18 ann release a,b -> ok
20-30 bob acquire b ttl=1000 -> ok n=2
20-30 carl acquire a ttl=1000 -> ok n=3`},
		{"a set that was granted in part", "search", `
0-10 bob acquire b ttl=1000 -> ok n=1
20-30 ann acquire a,b ttl=1000 -> refused holder=bob
40-50 carl acquire a ttl=1000 -> refused holder=ann`},
	})
}

func TestElections(t *testing.T) {
	check(t, []tale{
		{"a value and its changes", "", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
20-30 bob look x -> ok holder=ann n=1 content=one revision=1
40-50 ann set_value x value=two -> ok revision=2
60-70 bob look x -> ok holder=ann n=1 content=two revision=2`},
		{"an old value is told after a new one", "search", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
40-50 ann set_value x value=two -> ok revision=2
60-70 bob look x -> ok holder=ann n=1 content=one revision=1`},
		{"a revision is skipped", "search", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
40-50 ann set_value x value=two -> ok revision=3`},
		{"the same value again changes nothing", "", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
40-50 ann set_value x value=one -> ok revision=1`},
		{"a change without an answer may be seen", "", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
40-? ann set_value x value=two
60-70 bob look x -> ok holder=ann n=1 content=one revision=1
80-90 bob look x -> ok holder=ann n=1 content=two revision=2`},
		{"a change without an answer is seen and gone again", "search", `
0-10 ann acquire x ttl=1000 value=one -> ok n=1
40-? ann set_value x value=two
60-70 bob look x -> ok holder=ann n=1 content=two revision=2
80-90 bob look x -> ok holder=ann n=1 content=one revision=1`},
	})
}

func TestFences(t *testing.T) {
	check(t, []tale{
		{"growing numbers pass", "", `
0-10 ann pass_fence r fence=3 -> ok n=3
20-30 bob pass_fence r fence=3 -> ok n=3
40-50 bob pass_fence r fence=5 -> ok n=5
60-70 ann pass_fence r fence=3 -> refused n=5`},
		{"a smaller number passes", "search", `
0-10 ann pass_fence r fence=5 -> ok n=5
20-30 bob pass_fence r fence=4 -> ok n=4`},
		{"a larger number is refused", "search", `
0-10 ann pass_fence r fence=5 -> ok n=5
20-30 bob pass_fence r fence=6 -> refused n=5`},
		{"a number without an answer may count", "", `
0-? ann pass_fence r fence=5
20-30 bob pass_fence r fence=4 -> refused n=5`},
		{"and then it counts for ever", "search", `
0-? ann pass_fence r fence=5
20-30 bob pass_fence r fence=4 -> refused n=5
40-50 bob pass_fence r fence=4 -> ok n=4`},
		{"forgotten by a restart", "search", `
0-10 ann pass_fence r fence=5 -> ok n=5
20-30 bob look_fence r -> ok n=0`},
		{"dropped", "", `
0-10 ann pass_fence r fence=5 -> ok n=5
12-18 root drop_fence r -> ok
20-30 bob pass_fence r fence=4 -> ok n=4`},
	})
}

func TestRequestIds(t *testing.T) {
	check(t, []tale{
		{"the second answer names the same lease", "", `
0-? ann acquire x ttl=1000 request=q
20-30 ann acquire x ttl=1000 request=q -> ok n=1
40-50 ann acquire x ttl=1000 request=q -> ok n=1`},
		{"two effects", "one effect", `
0-10 ann acquire x ttl=1000 request=q token=t -> ok n=1
12-18 ann release x token=t -> ok
20-30 ann acquire x ttl=1000 request=q -> ok n=2`},
		{"two effects at once", "search", `
0-10 ann acquire x ttl=1000 request=q -> ok n=1
20-30 ann acquire x ttl=1000 request=q -> ok n=2`},
		{"after a restart, an id of an ended lease is new", "", `
0-10 ann acquire x ttl=1000 request=q token=t -> ok n=1
12-18 ann release x token=t -> ok
note 19 restart
20-30 ann acquire x ttl=1000 request=q -> ok n=2`},
		{"the lease of the first request excludes others", "search", `
0-? ann acquire x ttl=1000 request=q
20-30 ann acquire x ttl=1000 request=q -> ok n=1
40-50 bob acquire x ttl=1000 -> ok n=2`},
	})
}

func TestOrderOfWaiters(t *testing.T) {
	check(t, []tale{
		{"as they stand", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-40 bob acquire x ttl=1000 wait=500 -> ok n=2
12-80 carl acquire x ttl=1000 wait=500 -> ok n=3
20-25 root look x -> ok holder=ann n=1 queue=bob,carl
30-39 ann release x -> ok
50-60 bob release x -> ok`},
		{"overtaken", "in order", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-80 bob acquire x ttl=1000 wait=500 -> ok n=3
12-40 carl acquire x ttl=1000 wait=500 -> ok n=2
20-25 root look x -> ok holder=ann n=1 queue=bob,carl
30-39 ann release x -> ok
50-60 carl release x -> ok`},
		{"one that gave up is not overtaken", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-40 bob acquire x ttl=1000 wait=20 -> refused
12-80 carl acquire x ttl=1000 wait=500 -> ok n=2
20-25 root look x -> ok holder=ann n=1 queue=bob,carl
60-70 ann release x -> ok`},
		{"a restart empties the queue", "", `
0-10 ann acquire x ttl=1000 -> ok n=1
12-80 bob acquire x ttl=1000 wait=500 -> ok n=3
12-40 carl acquire x ttl=1000 wait=500 -> ok n=2
20-25 root look x -> ok holder=ann n=1 queue=bob,carl
note 30 restart
31-39 ann release x -> ok
50-60 carl release x -> ok`},
	})
}

func TestContentThatALockProtects(t *testing.T) {
	check(t, []tale{
		{"the holder writes, and the lock is free", "", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-30 ann write path:/f value=one frees -> ok
40-50 bob acquire path:/f ttl=9000 again -> ok
60-70 bob read path:/f -> ok content=one`},
		{"another one writes", "search", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-30 bob write path:/f value=one frees -> ok`},
		{"another one is refused", "", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-30 bob write path:/f value=one frees -> refused holder=ann`},
		{"a write is lost", "search", `
0-10 ann write path:/f value=one frees -> ok
20-30 bob read path:/f -> ok`},
		{"an old write comes back", "search", `
0-10 ann write path:/f value=one frees -> ok
20-30 bob write path:/f value=two frees -> ok
40-50 ann read path:/f -> ok content=one`},
		{"a write without an answer is done late", "", `
0-? ann write path:/f value=one frees
20-30 bob write path:/f value=two frees -> ok
40-50 ann read path:/f -> ok content=one`},
		{"a write without an answer is done and frees the lock, which another one acquires and reads", "", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-? ann write path:/f value=one frees
40-50 bob acquire path:/f ttl=9000 again -> ok
60-70 bob read path:/f -> ok content=one`},
		{"a write without an answer is done before the lock is released", "", `
0-10 ann acquire s token=ann -> ok n=1
20-? ann write s value=one holds
30-40 ann release s -> ok
50-60 bob acquire s token=bob -> ok n=2
70-80 bob read s -> ok content=one`},
		{"a write whose lease may be there still", "", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-30 ann write path:/f value=one frees -> ok kept
40-50 bob acquire path:/f ttl=9000 again -> refused holder=ann
60-70 bob acquire path:/f ttl=9000 again -> ok
80-90 carl acquire path:/f ttl=9000 again -> refused holder=bob`},
		{"a lease is there after a write that frees it", "search", `
0-10 ann acquire path:/f ttl=9000 again -> ok
20-30 ann write path:/f value=one frees -> ok
40-50 bob acquire path:/f ttl=9000 again -> refused holder=ann`},
		{"a write after its lock was lost", "search", `
0-10 ann acquire s ttl=1000 token=ann -> ok n=1
1100-1110 bob acquire s ttl=1000 token=bob -> ok n=2
1120-1130 ann write s value=one holds -> ok`},
		{"a write that needs its lock is refused without it", "", `
0-10 ann acquire s ttl=1000 token=ann -> ok n=1
20-30 ann release s -> ok
40-50 ann write s value=one holds -> refused`},
	})
}
