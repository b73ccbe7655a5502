package publication

import (
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// TestRecoverPanic shows that a panic becomes an error that tells nothing of what an object holds.
func TestRecoverPanic(t *testing.T) {
	const secret = "hunter2"
	cases := map[string]struct {
		reason string
		do     func() error
		kind   string
	}{
		"Value": {
			reason: "What is panicked with may be data.",
			do:     func() error { panic(secret) },
			kind:   "string: ",
		},
		"Runtime": {
			reason: "So may what the runtime finds.",
			do: func() error {
				var m map[string]string
				m[secret] = secret
				return nil
			},
			kind: "runtime.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := func() (err error) {
				defer recoverPanic(&err)
				return tc.do()
			}()
			if !errors.Is(err, errPanic) || !strings.HasPrefix(err.Error(), tc.kind) ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}
