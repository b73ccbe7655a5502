package fence

import (
	"time"

	"golang.org/x/sys/unix"
)

// started is what the clock falls back on, if the kernel has none that counts suspension. Linux has had one since
// 2.6.39.
var started = time.Now()

// uptime returns a time that only goes forward, also while the machine is suspended.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}
