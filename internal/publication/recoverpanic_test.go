package publication

import (
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// TestRecoverPanic shows that a panic becomes an error that tells where it was, and nothing of what an object holds.
func TestRecoverPanic(t *testing.T) {
	const secret = "hunter2"
	cases := map[string]struct {
		reason string
		do     func() error
		where  string
	}{
		"Value": {
			reason: "What is panicked with may be data.",
			do:     func() error { panic(secret) },
			where:  "string at ",
		},
		"Runtime": {
			reason: "Mistakes the runtime finds are found by their place.",
			do: func() error {
				var m map[string]string
				m[secret] = secret
				return nil
			},
			where: "recoverpanic_test.go:",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := func() (err error) {
				defer recoverPanic(&err)
				return tc.do()
			}()
			if !errors.Is(err, errPanic) || !strings.Contains(err.Error(), tc.where) ||
				!strings.Contains(err.Error(), "TestRecoverPanic") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}
