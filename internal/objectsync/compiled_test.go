package objectsync_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// costly is a spec that takes long to compile, and little to apply to an object that has nothing of what it is about.
func costly() *v1alpha1.PublishedResourceSpec {
	const steps, pattern = 100, "(([a-z]{1,9}|[0-9]{1,9})-){1,9}x"
	reference := byReference("spec.none")
	reference.Reference.Regex = &v1alpha1.RegularExpression{Pattern: pattern}
	spec := related(v1alpha1.OriginService, reference)
	spec.Filter = &v1alpha1.ResourceFilter{Resource: &metav1.LabelSelector{}}
	spec.Mutation = &v1alpha1.ResourceMutations{Spec: []v1alpha1.ResourceMutation{byCEL("spec.size", "value")}}
	for i := range steps {
		spec.Mutation.Spec = append(spec.Mutation.Spec, byRegex("spec.none", fmt.Sprint(pattern, i), ""))
		spec.Mutation.Status = append(spec.Mutation.Status, byRegex("status.none", fmt.Sprint(pattern, i), ""))
	}
	return spec
}

// TestCompiledOnce shows that patterns, templates and expressions are compiled with the spec, and not with each look at
// an object.
func TestCompiledOnce(t *testing.T) {
	spec := costly()
	m := inMemory(t, spec)
	sync := func() {
		if _, err := m.syncer.Sync(t.Context(), m.input); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	for _, u := range m.below.all[things.Service.GroupVersionResource] {
		u.Object["status"] = map[string]any{"phase": "Ready"}
	}
	sync()
	const runs = 10
	look, compilation := testing.AllocsPerRun(runs, sync), testing.AllocsPerRun(runs, func() { inMemory(t, spec) })
	if look > compilation/5 {
		t.Errorf("want a look to cost a fraction of a compilation, it makes %v allocations of %v", look, compilation)
	}
}
