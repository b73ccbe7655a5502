package publication

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/pkg/errors"
)

// errPanic is the cause of errors that are mistakes of the program.
var errPanic = errors.New("this is a bug of the provider: report it, with this message and the version, at " +
	"https://github.com/crossplane-contrib/provider-kcp/issues")

// framesMost is how far up it is looked for where a mistake was made.
const framesMost = 32

// recoverPanic, deferred, makes a panic an error: what one object is made of must not end the sync of all. The error
// says where, and nothing of what was panicked with, which may be data of a consumer.
func recoverPanic(err *error) {
	if r := recover(); r != nil {
		*err = errors.Wrapf(errPanic, "%T at %s", r, panicLocation())
	}
}

// panicLocation returns the place of the panic that is being recovered from.
func panicLocation() string {
	counters := make([]uintptr, framesMost)
	frames := runtime.CallersFrames(counters[:runtime.Callers(0, counters)])
	panicked := false
	for {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", f.Function, path.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
