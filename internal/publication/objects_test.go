package publication

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestPauses shows how long an object rests that fails again and again, and that thousands of them in one workspace are
// tried once a second, and delay no object of another.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTestPublication(t).worker.objects
		for name, tc := range map[string]struct {
			err         error
			first, most time.Duration
		}{
			"early":  {errors.Wrap(errEndpointGone, "cannot sync"), earlyFirst, earlyMost},
			"failed": {errors.New("boom"), retryFirst, retryMost},
		} {
			for range 2 { // Success has the pauses begin anew.
				first, last := x.pause(in(name, name), tc.err), time.Duration(0)
				for range 20 {
					last = x.pause(in(name, name), tc.err)
				}
				if first != tc.first || last != tc.most {
					t.Errorf("%s: want %s, and %s at most, got %s and %s", name, tc.first, tc.most, first, last)
				}
				x.succeed(in(name, name))
			}
		}
		var last time.Duration
		for i := range 10_000 {
			last = x.pause(in("crowded", strconv.Itoa(i)), errBoom)
			if at := retryBurst + 100; i == at-1 && last != 100*time.Second/retryRate {
				t.Errorf("object %d of one workspace waits %s", at, last)
			}
		}
		if other := x.pause(in("other", "a"), errBoom); other != retryFirst || last != crowdedMost {
			t.Errorf("the last waits %s, and one of another workspace %s", last, other)
		}
	})
}

// TestOrphansOfKinds shows that only copies of objects of our own kind count as orphans, where others have copies of
// the same kind.
func TestOrphansOfKinds(t *testing.T) {
	p := newTestPublication(t)
	p.worker.config.Sync.Primary.Workspace = objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
		Kind:                 "Thing",
	}
	copied := func(kind, orphaned string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetLabels(map[string]string{objectsync.LabelCluster: "cluster", objectsync.LabelOrphaned: orphaned})
		u.SetAnnotations(map[string]string{objectsync.AnnotationKind: kind})
		return u
	}
	for name, u := range map[string]*unstructured.Unstructured{
		"ours": copied("Thing.example.com", "2026-11-28"), "theirs": copied("Other.example.com", "2026-11-28"),
		"unmarked": copied("", "2026-11-28"), "used": copied("Thing.example.com", ""),
	} {
		p.worker.objects.noteOrphan(in("cluster", name), p.worker.isOrphan(u))
	}
	want := &v1alpha1.ObjectCounts{
		Orphaned: 1, Orphans: []v1alpha1.WorkspaceOrphans{{Workspace: "cluster", Copies: 1}},
	}
	if diff := cmp.Diff(want, p.status()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	p.worker.newPass(t.Context(), in("cluster", "ours")).forget()
	if got := p.status().Orphaned; got != 0 {
		t.Errorf("want none when it is gone, got %d", got)
	}
}

// TestFailuresByReason shows that syncs that fail are counted by what their consumer is told, and that a metric has no
// label that a tenant has written: a series for each would be without end.
func TestFailuresByReason(t *testing.T) {
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: "hunter2-430", Message: "no",
	}}
	for _, err := range []error{errors.Wrap(objectsync.ErrForeign, "x"), errors.New("x"), webhook, errPanic, nil} {
		observe(t.Name(), err, time.Second)
	}
	t.Cleanup(func() { forgetMetrics(t.Name()) })
	for reason, want := range map[string]float64{"NameTaken": 1, "ReconcilingError": 3, "hunter2-430": 0} {
		m := &dto.Metric{}
		if err := failures.WithLabelValues(t.Name(), reason).Write(m); err != nil || m.GetCounter().GetValue() != want {
			t.Errorf("%s: want %v, got %v, %v", reason, want, m.GetCounter().GetValue(), err)
		}
	}
}

// TestRecoverPanic shows that a panic becomes an error that tells nothing of what an object holds.
func TestRecoverPanic(t *testing.T) {
	const secret = "hunter2"
	for kind, do := range map[string]func(){
		"string:":  func() { panic(secret) },
		"runtime.": func() { map[string]string(nil)[secret] = secret },
	} {
		err := func() (err error) {
			defer recoverPanic(&err)
			do()
			return nil
		}()
		if !errors.Is(err, errPanic) || !strings.HasPrefix(err.Error(), kind) || strings.Contains(err.Error(), secret) {
			t.Errorf("want a bug told with a kind of %s alone, got %v", kind, err)
		}
	}
}
