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

// recoverPanic, deferred, makes a panic an error: what one object is made of must not end the sync of all. The error
// says where, and nothing of what was panicked with, which may be data of a consumer.
func recoverPanic(err *error) {
	if r := recover(); r != nil {
		*err = errors.Wrapf(errPanic, "%T at %s", r, panicLocation())
	}
}

// panicLocation returns the place of the panic that recoverPanic recovers from: above it are frames of the runtime.
func panicLocation() string {
	const ofRuntime = 2
	for up := ofRuntime; ; up++ {
		counter, file, line, known := runtime.Caller(up)
		if name := runtime.FuncForPC(counter).Name(); !known || !strings.HasPrefix(name, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", name, path.Base(file), line)
		}
	}
}
