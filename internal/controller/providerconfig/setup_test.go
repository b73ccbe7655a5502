package providerconfig

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

func TestChanged(t *testing.T) {
	registry, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ProviderConfig)
		want   bool
	}{
		"Users": {
			reason: "While Objects are made their number is written again and again, and each time all were counted.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetUsers(2) },
		},
		"Spec": {
			reason: "It may lead elsewhere.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetGeneration(2) },
			want:   true,
		},
		"Restored": {
			reason: "The control plane has gone back to an earlier state.",
			change: func(pc *v1alpha1.ProviderConfig) { pc.SetResourceVersion("1") },
			want:   true,
		},
		"Released": {
			reason: "It is deleted, and another one's finalizer has gone: it is our turn.",
			change: func(pc *v1alpha1.ProviderConfig) {
				pc.SetDeletionTimestamp(&metav1.Time{})
				pc.SetFinalizers(nil)
			},
			want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			was := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{
				Name: "target", Generation: 1, ResourceVersion: "10", Finalizers: []string{"example.org/other"},
			}}
			is := was.DeepCopy()
			is.SetResourceVersion("11")
			tc.change(is)
			if got := changed(registry).Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != tc.want {
				t.Errorf("%s\nchanged: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
