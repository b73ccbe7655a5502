package takeover_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// interruptions are the moments at which the agent may have been stopped, and what may have happened while nobody was
// there.
var interruptions = map[string]struct {
	reason string
	leave  func(t *testing.T, s *world, o cert)
	want   func(t *testing.T, s *world, o cert)
	ends   bool // Nothing is to be left of the object.
}{
	"Accepted": {
		reason: "An object that the agent has only taken hold of is placed.",
		leave:  func(t *testing.T, s *world, o cert) { s.accept(t, o) },
		want: func(t *testing.T, s *world, o cert) {
			below := o.below(s.group)
			await(t, s.c, below, "the copy", func() bool { return field(below, "spec.secretName") == o.name+"-issued" })
		},
	},
	"Placed": {
		reason: "A copy that the agent has not remembered yet stays as it is.",
		leave: func(t *testing.T, s *world, o cert) {
			s.accept(t, o)
			s.place(t, o)
		},
		want: func(t *testing.T, s *world, o cert) {
			below := o.below(s.group)
			await(t, s.c, object("v1", "Secret", s.state, s.stateOf(t, o).Name), "the state",
				func() bool { return true })
			await(t, s.c, below, "what a webhook has set",
				func() bool { return field(below, "spec.defaulted") == "by a webhook" })
			if below.GetGeneration() != 1 {
				t.Errorf("the copy has been changed: %v", below.Object)
			}
		},
	},
	"Reissued": {
		reason: "What an operator has changed meanwhile passes, too.",
		leave: func(t *testing.T, s *world, o cert) {
			s.sync(t, o)
			patch(t, s.c, o.secret(o.in.cluster, o.name+"-issued"),
				map[string]any{"data": map[string]any{"tls.crt": "b3RoZXI=", "ca.crt": "bmV3"}})
			patchStatus(t, s.c, o.below(s.group), "Renewed")
		},
		want: func(t *testing.T, s *world, o cert) {
			issued, above := object("v1", "Secret", o.namespace, o.name), o.above(s.group)
			await(t, o.in, issued, "the change",
				func() bool { return dataOf(issued, "ca.crt") == "bmV3" && dataOf(issued, "tls.crt") == "b3RoZXI=" })
			await(t, o.in, above, "the status", func() bool { return field(above, "status.phase") == "Renewed" })
		},
	},
	"Released": {
		reason: "An object that has nothing left but the finalizer loses it.",
		leave: func(t *testing.T, s *world, o cert) {
			s.accept(t, o)
			remove(t, o.in, o.above(s.group))
		},
		want: func(t *testing.T, s *world, o cert) { awaitGone(t, o.in, o.above(s.group)) },
		ends: true,
	},
	"CopyDeleted": {
		reason: "A copy that somebody has deleted meanwhile is made again.",
		leave: func(t *testing.T, s *world, o cert) {
			s.sync(t, o)
			remove(t, s.c, o.below(s.group))
		},
		want: func(t *testing.T, s *world, o cert) {
			below := o.below(s.group)
			await(t, s.c, below, "the copy", func() bool { return field(below, "spec.size") == "L" })
		},
	},
}

func remove(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Errorf("cannot delete %s: %v", o.GetName(), err)
	}
}
