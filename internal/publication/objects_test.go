package publication

import (
	"fmt"
	"slices"
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
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const lastingMost = 10 * time.Minute

// TestPauses shows how long an object rests at most that fails again and again. What only a change cures is not tried
// for long after half a minute. What lasts is found out about with the first pause, however long another failure, such
// as an outage, has lasted before.
func TestPauses(t *testing.T) {
	boom := errors.New("boom")
	causes := map[error]time.Duration{
		boom: 30 * time.Second, errEndpointGone: time.Second, &objectsync.RefusalError{}: lastingMost,
		objectsync.ErrForeign: lastingMost, objectsync.ErrAmbiguous: lastingMost, errPanic: lastingMost,
	}
	for err, most := range causes {
		o := &object{failures: 20, lasting: most != lastingMost} // It has failed for another reason before.
		pauses, after := []time.Duration(nil), time.Duration(0)
		for range 20 {
			pauses = append(pauses, o.pause(errors.Wrap(err, "cannot sync")))
		}
		if first, last := pauses[0], pauses[len(pauses)-1]; first != 50*time.Millisecond || last != most {
			t.Errorf("%v: want 50ms, and %s at most, got %s and %s", err, most, first, last)
		}
		for _, pause := range pauses {
			if after += pause; most == lastingMost && after > time.Minute/2 && after < 5*time.Minute {
				t.Errorf("%v: tried %s after it has failed", err, after)
			}
		}
	}
}

// TestSpecChanges shows that what is known of objects stays when another spec takes over, and that all of them are
// tried by that one at once, with the first pauses if they fail again.
func TestSpecChanges(t *testing.T) {
	p := newTestPublication(t)
	failed, synced := in("a", "failed"), in("a", "synced")
	p.worker.objects.note(synced, nil)
	for range 5 {
		p.worker.objects.settle(failed, objectsync.ErrForeign)
	}
	p.worker.objects.note(failed, objectsync.ErrForeign)
	p.worker.workspaces.follow(Consumers{Workspaces: boundTo("url", []string{"a"})})
	before := p.status()
	next, err := newPublication(t.Name(), p.worker.config, p, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer next.cancel()
	defer next.worker.objects.queue.ShutDown()
	next.worker.objects.resume()
	if diff := cmp.Diff([]string{"failed", "synced"}, drain(next.worker.objects.queue)); diff != "" {
		t.Errorf("tried: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, next.status()); diff != "" || before.Failed != 1 || before.Synced != 1 {
		t.Errorf("counts before were %v: -want, +got:\n%s", before, diff)
	}
	if w := next.worker.workspaces.get("a"); !w.Bound || w.objects != 2 {
		t.Errorf("want the workspace known with its objects, got %+v", w)
	}
	if o := next.worker.objects.get(failed); o.failures != 0 {
		t.Errorf("want it tried as one that has not failed, got %d failures", o.failures)
	}
}

// TestRetryRefused shows whom the cure of a refusal wakes: the others that the same server has refused.
func TestRetryRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPublication(t)
		settle := p.worker.objects.settle
		above := &objectsync.RefusalError{Workspace: true}
		for _, item := range []objectsync.Primary{in("a", "1"), in("a", "2"), in("b", "3")} {
			settle(item, above)
		}
		for _, item := range []objectsync.Primary{in("a", "below"), in("b", "other")} {
			settle(item, &objectsync.RefusalError{})
		}
		for _, item := range []objectsync.Primary{in("a", "rights"), in("b", "others")} {
			settle(item, &objectsync.RefusalError{Cause: objectsync.RefusedByRights})
		}
		settle(in("a", "failed"), errors.New("boom"))
		settle(in("a", "1"), errors.New("unreachable")) // It is not known whether it would be refused.
		settle(in("a", "never"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody woken, got %v", got)
		}
		settle(in("a", "1"), nil)
		if diff := cmp.Diff([]string{"2"}, drain(p.worker.objects.queue)); diff != "" {
			t.Errorf("woken by a cure in the workspace: -want, +got:\n%s", diff)
		}
		settle(in("a", "below"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody else of the workspace that the service cluster has refused, got %v", got)
		}
		settle(in("a", "rights"), nil)
		if diff := cmp.Diff([]string{"others"}, drain(p.worker.objects.queue)); diff != "" {
			t.Errorf("woken by rights: -want, +got:\n%s", diff)
		}
		settle(in("a", "rights"), &objectsync.RefusalError{Cause: objectsync.RefusedByRights})
		settle(in("a", "rights"), nil)
		if got := drain(p.worker.objects.queue); got != nil {
			t.Errorf("want nobody woken again a moment later, got %v", got)
		}
	})
}

// TestProbe shows which objects are tried that lack rights: one of each resource, as long as there are any.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPublication(t)
		settle := p.worker.objects.settle
		lacks := func(item objectsync.Primary, resource string) {
			settle(item, &objectsync.RefusalError{
				Cause: objectsync.RefusedByRights, Resource: schema.GroupResource{Resource: resource},
			})
		}
		probe := func() []string {
			p.worker.objects.probe()
			return drain(p.worker.objects.queue)
		}
		settle(in("a", "policy"), &objectsync.RefusalError{})
		settle(in("a", "claim"), &objectsync.RefusalError{Workspace: true, Cause: objectsync.RefusedByRights})
		if got := probe(); got != nil {
			t.Errorf("want nobody tried whose cure is told of, got %v", got)
		}
		for i := range 100 {
			lacks(in("a", fmt.Sprint("thing", i)), "things")
		}
		lacks(in("a", "secret"), "secrets")
		if got := probe(); len(got) != 2 || !slices.Contains(got, "secret") {
			t.Errorf("want one of each resource, got %v", got)
		}
		settle(in("a", "secret"), nil)
		drain(p.worker.objects.queue)
		if got := probe(); len(got) != 1 || slices.Contains(got, "secret") {
			t.Errorf("want things alone, got %v", got)
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

// TestStreamOfGoneEndpoint shows that what is looked at through an endpoint that has just gone is not known yet, and
// that nothing keeps it from being known when the endpoint is back.
func TestStreamOfGoneEndpoint(t *testing.T) {
	p := newTestPublication(t)
	e := &endpoint{url: "gone"}
	at := &pass{worker: p.worker, item: in("a", "1"), needs: set[need]{}}
	c := reader{side: &side{pass: at, endpoint: e, cluster: "a"}, resource: objectsync.Secrets}
	_, err := c.Get(types.NamespacedName{Namespace: "default", Name: "key"})
	if !errors.Is(err, errEndpointGone) || !isEarly(err) {
		t.Errorf("want %v, got %v", errEndpointGone, err)
	}
	if len(p.worker.streams.related) != 0 {
		t.Errorf("it keeps %v", p.worker.streams.related)
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
