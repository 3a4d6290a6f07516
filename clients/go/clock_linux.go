package holdfast

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME of <linux/time.h>

var hasBootClock = func() bool {
	_, err := readBootClock()
	return err == 0
}()

func readBootClock() (time.Duration, syscall.Errno) {
	var now syscall.Timespec
	_, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano()), err
}

// bootTime is a clock that nobody can set, and that goes on while the machine sleeps.
func bootTime() instant {
	if !hasBootClock {
		return instant(runningTime())
	}
	now, _ := readBootClock()
	return instant(now)
}
