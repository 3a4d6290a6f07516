package holdfast

import "time"

// instant is a moment on the clock that leases are measured by, counted from an arbitrary zero.
type instant time.Duration

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func (i instant) sub(other instant) time.Duration { return time.Duration(i - other) }

var processStart = time.Now()

// runningTime is the time that this machine has been awake since the process began. Nobody can set
// it. It serves for pauses between requests, which need no time while the machine sleeps.
func runningTime() time.Duration { return time.Since(processStart) }
