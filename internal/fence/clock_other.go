//go:build !linux

package fence

import "time"

// uptime returns a time that goes forward while the machine is suspended, too. It is the wall clock, which somebody may
// set.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }
