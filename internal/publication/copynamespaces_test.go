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
	p := newCopyNamespaces()
	for i, step := range []struct {
		reason string
		do     func() error
		left   []string
		err    error
	}{
		{reason: "It comes.", do: func() error { return p.move(item, "ns", leave) }, left: nil, err: nil},
		{reason: "It stays.", do: func() error { return p.move(item, "ns", leave) }, left: nil, err: nil},
		{
			reason: "It goes, and what it leaves cannot be looked at.",
			do:     func() error { return p.move(item, "", leave) },
			left:   []string{"ns"},
			err:    errBoom,
		},
		{
			reason: "That is tried again.",
			do:     func() error { fails = false; return p.move(item, "", leave) },
			left:   []string{"ns"},
			err:    nil,
		},
		{reason: "And not once more.", do: func() error { return p.move(item, "", leave) }, left: nil, err: nil},
		{
			reason: "It is found although its object cannot be synced.",
			do:     func() error { p.noteFound(item, "other"); return nil },
			left:   nil,
			err:    nil,
		},
		{
			reason: "What is known better stays.",
			do:     func() error { p.noteFound(item, "else"); return nil },
			left:   nil,
			err:    nil,
		},
		{reason: "It goes.", do: func() error { return p.move(item, "", leave) }, left: []string{"other"}, err: nil},
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
