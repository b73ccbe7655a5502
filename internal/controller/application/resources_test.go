package application

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// TestUnreachableTarget shows that a resource which is on its way out of a cluster that does not answer is told to do
// without it, whether its application goes, its template has gone, or another template has its name.
func TestUnreachableTarget(t *testing.T) {
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason    string
		templates []string
		do        func(*Reconciler, *pass) error
	}{
		"Deleted": {
			reason: "The application goes.", templates: []string{"a"},
			do: func(r *Reconciler, p *pass) error { _ = r.deleteResources(t.Context(), p); return nil },
		},
		"Pruned": {
			reason: "The template has gone.",
			do:     func(r *Reconciler, p *pass) error { return r.prune(t.Context(), p) },
		},
		"MadeAgain": {
			reason: "Another template has its name.", templates: []string{"a"},
			do: func(r *Reconciler, p *pass) error { return r.renderResources(t.Context(), p) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := &application{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "1"}}
			app.Spec.UnreachableTarget = commonv1.UnreachableTargetWait
			app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "away"}
			held := render(app, template{Metadata: workloadv1alpha1.ResourceTemplateMetadata{Name: "a"}}, nil)
			held.SetDeletionTimestamp(new(metav1.Now()))
			c := fake.NewClientBuilder().WithScheme(s).WithObjects(held).Build()
			r := &Reconciler{local: c, record: event.NewNopRecorder()}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(held), held); err != nil {
				t.Fatal(err)
			}
			for _, n := range tc.templates {
				app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates,
					template{Metadata: workloadv1alpha1.ResourceTemplateMetadata{Name: n}})
			}
			app.Spec.UnreachableTarget = commonv1.UnreachableTargetOrphan
			p := &pass{app: app, held: map[string]*resource{"a": held}, failed: failures{}}
			if err := tc.do(r, p); err != nil {
				t.Fatal(err)
			}
			now := &resource{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(held), now); err != nil {
				t.Fatal(err)
			}
			if got := now.Spec.UnreachableTarget; got != commonv1.UnreachableTargetOrphan {
				t.Errorf("%s want the resource to go without its cluster, got %s", tc.reason, got)
			}
		})
	}
}
