package objectsync_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var errBoom = errors.New("boom")

// A fault stops a program at one of its writes: before it reaches the server, or before the answer comes back.
type fault struct {
	left  int // writes until then
	after bool
	hit   bool
}

func (f *fault) do(w *write) error {
	if f.hit {
		return errBoom
	}
	if f.left--; f.left > 0 {
		return w.send()
	}
	f.hit = true
	if f.after {
		_ = w.send()
	}
	return errBoom
}

// stopping returns an input with a fault on both sides.
func stopping(in objectsync.Input, f *fault) objectsync.Input {
	in.Workspace.Side, in.Service = tap(in.Workspace.Side, f.do), tap(in.Service, f.do)
	return in
}

// TestKilled shows that it does not matter between which two writes the program ends: the next brings the same about.
func TestKilled(t *testing.T) {
	for _, phase := range []string{"create", "update", "delete"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,answered=%t", phase, !after), func(t *testing.T) {
				for n := 1; ; n++ {
					if n > 12 {
						t.Fatal("it never gets through")
					}
					if !killed(t, phase, &fault{left: n, after: after}) {
						if n < 3 {
							t.Errorf("only %d writes in phase %s", n-1, phase)
						}
						return
					}
				}
			})
		}
	}
}

// killed goes through the life of an object, is stopped by a fault in one phase, and reports whether that came about.
func killed(t *testing.T, phase string, f *fault) bool {
	t.Helper()
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	ns := w.input.Object.Namespace
	sync := func(now string) {
		if now == phase {
			for range 6 {
				if _, err := s.Sync(t.Context(), stopping(w.input, f)); err != nil {
					break
				}
			}
		}
		w.mustSync(s, w.input)
	}
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.create(w.above, newSecret(ns, "tls", "one"))
	w.create(w.above, newSecret(ns, "other", "two"))
	sync("create")
	w.patch(w.above, src, `{"spec":{"secretName":"other","size":null,"new":{"a":"b"}}}`)
	sync("update")
	if diff := cmp.Diff(w.source(w.input).Object["spec"], w.theCopy(w.cluster).Object["spec"]); diff != "" {
		t.Errorf("%s, %+v: -source, +copy:\n%s", phase, *f, diff)
	}
	if w.secretOf(w.below, w.cluster, "tls") != nil || w.secretOf(w.below, w.cluster, "other")["k"] != "two" {
		t.Errorf("%s, %+v: want a copy of the other Secret alone", phase, *f)
	}
	kube.Delete(t, w.above, src)
	sync("delete")
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 ||
		w.secretOf(w.below, w.cluster, "other") != nil {
		t.Errorf("%s, %+v: something is left", phase, *f)
	}
	for _, name := range []string{"tls", "other"} {
		s := newSecret(ns, name, "")
		if err := w.above.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, s); err != nil ||
			len(s.Finalizers) != 0 {
			t.Errorf("%s, %+v: Secret %s is still held: %v, %v", phase, *f, name, s.Finalizers, err)
		}
	}
	return f.hit
}

// stopped syncs an object once, and is stopped by a fault.
func stopped(t *testing.T, s *objectsync.Syncer, in objectsync.Input, f *fault) {
	t.Helper()
	if _, err := s.Sync(t.Context(), stopping(in, f)); err == nil && f.hit {
		t.Error("want the error of a write")
	}
}
