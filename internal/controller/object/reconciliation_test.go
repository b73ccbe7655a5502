package object

import (
	"context"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// TestOnlySeen shows which changes of a status may wait.
func TestOnlySeen(t *testing.T) {
	const (
		seen    = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"c"},"data":{"d":"e"}}`
		changed = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"c"},"data":{"d":"f"}}`
		another = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"d"},"data":{"d":"e"}}`
		ending  = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b","uid":"c",` +
			`"deletionTimestamp":"2026-01-02T03:04:05Z"}}`
	)
	show := func(raw string) func(Object) {
		return func(o Object) { o.Observed().Manifest.Raw = []byte(raw) }
	}
	deleteNow := func(o Object) { o.SetDeletionTimestamp(new(metav1.Now())) }
	unready := func(message string) xpv2.Condition {
		return xpv2.Unavailable().WithMessage(message).WithObservedGeneration(1)
	}
	for name, tc := range map[string]struct {
		reason string
		change func(Object)
		want   bool
	}{
		"Content": {reason: "What the resource contains may wait.", change: show(changed), want: true},
		"WhyNot": {
			reason: "Why it is not ready may wait.",
			change: func(o Object) { o.SetConditions(unready("2 of 3")) },
			want:   true,
		},
		"Ready": {reason: "That it is ready may not.", change: func(o Object) { o.SetConditions(xpv2.Available()) }},
		"NotReady": {
			reason: "Nor may the generation it is about.",
			change: func(o Object) { o.SetConditions(unready("1 of 3").WithObservedGeneration(2)) },
		},
		"Synced": {
			reason: "Nor that it is synced.",
			change: func(o Object) { o.SetConditions(xpv2.ReconcileSuccess()) },
		},
		"First":   {reason: "Nor a resource seen for the first time.", change: show("")},
		"Another": {reason: "Nor another resource of that name.", change: show(another)},
		"Ending":  {reason: "Nor that the resource is being deleted.", change: show(ending)},
		"Applied": {reason: "Nor what was applied, which nothing else knows.", change: func(o Object) {
			o.Observed().Applied = &commonv1.AppliedRecord{ManifestHash: "h"}
		}},
		"Omitted": {
			reason: "Nor that the status does not show all.",
			change: func(o Object) { show(changed)(o); o.Observed().OmittedBytes = 7 },
		},
		"Pinned": {reason: "Nor what is kept for the Object.", change: func(o Object) {
			o.Observed().References = []commonv1.PinnedReference{{UID: "x"}}
		}},
		"Deleted": {reason: "Nor what else is new of an Object that is being deleted.", change: func(o Object) {
			show(changed)(o)
			deleteNow(o)
		}},
		"Waiting": {
			reason: "What a deleted one waits for may wait.",
			change: func(o Object) {
				deleteNow(o)
				o.SetConditions(xpv2.Deleting().WithObservedGeneration(2), xpv2.ReconcileSuccess())
			},
			want: true,
		},
		"CannotGo": {reason: "Why it cannot go may not.", change: func(o Object) {
			deleteNow(o)
			o.SetConditions(xpv2.Deleting(), xpv2.ReconcileError(errors.New("no")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			was := &mobjectv1alpha1.Object{}
			show(seen)(was)
			was.SetConditions(unready("1 of 3"))
			is := was.DeepCopy()
			tc.change(is)
			if got := onlySeen(was, is); got != tc.want {
				t.Errorf("%s\nmay wait: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestComposite shows whose Objects share a budget of writes.
func TestComposite(t *testing.T) {
	owner := []metav1.OwnerReference{{UID: "owner", Controller: new(true)}}
	composed := map[string]string{labelComposite: "app"}
	for name, tc := range map[string]struct {
		reason string
		meta   metav1.ObjectMeta
		want   types.UID
	}{
		"Alone": {reason: "An Object pays for itself.", meta: metav1.ObjectMeta{UID: "self"}, want: "self"},
		"Composed": {
			reason: "The Objects of a composite share.",
			meta:   metav1.ObjectMeta{UID: "self", Labels: composed, OwnerReferences: owner},
			want:   "owner",
		},
		"Owned": {
			reason: "Those of another owner do not: it has no circuit breaker.",
			meta:   metav1.ObjectMeta{UID: "self", OwnerReferences: owner},
			want:   "self",
		},
		"Labelled": {
			reason: "A label alone makes no composite.",
			meta:   metav1.ObjectMeta{UID: "self", Labels: composed},
			want:   "self",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := composite(&mobjectv1alpha1.Object{ObjectMeta: tc.meta}); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestWaitingCostsNoRetries shows that passes which only wait for something, such as a first list, leave the retries of
// their target to those that fail.
func TestWaitingCostsNoRetries(t *testing.T) {
	const passes = 1000
	for name, tc := range map[string]struct {
		reason  string
		err     error
		delayed bool
	}{
		"Waits": {
			reason: "A conflict means that something was not seen yet.",
			err:    apierrors.NewConflict(schema.GroupResource{}, "", errors.New("waiting")),
		},
		"Fails": {reason: "Retries of what fails are spread.", err: errors.New("boom"), delayed: true},
	} {
		t.Run(name, func(t *testing.T) {
			registry, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{Host: "http://127.0.0.1:1"}})
			if err != nil {
				t.Fatal(err)
			}
			defer registry.Close()
			r := &reconciler[*mobjectv1alpha1.Object]{
				registry: registry,
				early:    deletedearly.NewObjects[*mobjectv1alpha1.Object](""),
				managed: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					p := reconciliationOf(ctx)
					p.target = &targetresource.Resource{Cluster: registry.Local()}
					_ = p.fail(tc.err)
					return reconcile.Result{}, nil
				}),
			}
			for range passes {
				if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil {
					t.Fatal(err)
				}
			}
			if delay := registry.Local().RetryAfter(informer.Owner{}, nil, ""); (delay > 0) != tc.delayed {
				t.Errorf("%s After %d passes the next retry waits for %s", tc.reason, passes, delay)
			}
		})
	}
}
