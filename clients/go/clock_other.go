//go:build !linux

package holdfast

// bootTime is a clock that nobody can set. It stands still while the machine sleeps.
func bootTime() instant { return instant(runningTime()) }
