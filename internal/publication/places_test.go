package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
)

var errBoom = errors.New("boom")

// TestPlaces shows which namespaces are looked at as a copy comes, stays and goes: each that it has left, until that
// has succeeded.
func TestPlaces(t *testing.T) {
	item, fails := in("a", "1"), true
	var left []string
	leave := func(was string) error {
		left = append(left, was)
		if fails {
			return errBoom
		}
		return nil
	}
	p := newPlaces()
	for i, step := range []struct {
		reason string
		do     func() error
		left   []string
		err    error
	}{
		{"It comes.", func() error { return p.move(item, "ns", leave) }, nil, nil},
		{"It stays.", func() error { return p.move(item, "ns", leave) }, nil, nil},
		{"It goes, and what it leaves cannot be looked at.", func() error { return p.move(item, "", leave) }, []string{"ns"}, errBoom},
		{"That is tried again.", func() error { fails = false; return p.move(item, "", leave) }, []string{"ns"}, nil},
		{"And not once more.", func() error { return p.move(item, "", leave) }, nil, nil},
		{"It is found although its object cannot be synced.", func() error { p.occupy(item, "other"); return nil }, nil, nil},
		{"What is known better stays.", func() error { p.occupy(item, "else"); return nil }, nil, nil},
		{"It goes.", func() error { return p.move(item, "", leave) }, []string{"other"}, nil},
	} {
		left = nil
		err := step.do()
		if diff := cmp.Diff(step.left, left) + cmp.Diff(step.err, err, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("step %d: %s -want, +got:\n%s", i, step.reason, diff)
		}
	}
	if len(p.of) > 0 {
		t.Errorf("want nothing kept of what is gone, got %v", p.of)
	}
}
