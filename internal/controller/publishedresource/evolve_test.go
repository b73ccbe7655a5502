package publishedresource_test

import (
	"fmt"
	"testing"
	"time"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// redefine changes a CustomResourceDefinition.
func redefine(t *testing.T, c client.Client, name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	update(t, c, d, func() { change(d) })
}

// setField adds a field to the spec of a kind, or takes it away.
func setField(d *apiextensionsv1.CustomResourceDefinition, field string, there bool) {
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	delete(spec.Properties, field)
	if there {
		spec.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
}

// TestEvolve shows that each change of a published CustomResourceDefinition makes a new schema and is offered to
// consumers within a second, that a change which is undone uses the old schema again, and that what others have added
// to the APIExport stays.
func TestEvolve(t *testing.T) {
	s := openShop(t)
	s.offerBoats(t)
	s.publishHats(t)
	first := s.awaitSchema(t, "hats", "")
	consumer := s.binder(t)

	last := first
	add := func(field string) time.Duration {
		begin := time.Now()
		redefine(t, s.c, "hats."+s.group,
			func(d *apiextensionsv1.CustomResourceDefinition) { setField(d, field, true) })
		last = s.awaitSchema(t, "hats", last)
		return time.Since(begin)
	}
	add("brim")
	add("feather")
	bands := 0
	kube.Figure(t, "a change of the source to reach the APIExport", func() time.Duration {
		bands++
		return add(fmt.Sprintf("band%d", bands))
	})
	hat := s.object("Hat", "bowler")
	hat.Object["spec"].(map[string]any)["feather"] = "blue"
	kube.Eventually(t, "a consumer can use the new field", func() (bool, string) {
		u := hat.DeepCopy()
		u.SetGenerateName("bowler-")
		u.SetName("")
		err := kcp.Client(t, consumer).Create(t.Context(), u)
		spec, _ := u.Object["spec"].(map[string]any)
		return err == nil && spec["feather"] == "blue", "not yet"
	})

	redefine(t, s.c, "hats."+s.group, func(d *apiextensionsv1.CustomResourceDefinition) {
		for _, field := range []string{"brim", "feather", "band1", "band2", "band3"} {
			setField(d, field, false)
		}
	})
	if undone := s.awaitSchema(t, "hats", last); undone != first {
		t.Errorf("a change that is undone must use the old schema %s again, got %s", first, undone)
	}
	if got := schemaOf(s.export(t), "boats"); got != boats {
		t.Errorf("the resource of a stranger in the APIExport: got schema %q", got)
	}
	schemas := &apisv1alpha1.APIResourceSchemaList{}
	kube.List(t, kcp.Client(t, s.admin), schemas)
	if want := 4 + bands; len(schemas.Items) != want {
		t.Errorf("want one schema of boats, and %d of hats, which are kept, got %d schemas", want-1, len(schemas.Items))
	}
}

// update changes an object as it is now.
func update(t *testing.T, c client.Client, o client.Object, change func()) {
	t.Helper()
	kube.Await(t, c, o, "update of "+o.GetName(), func() (bool, string) {
		change()
		err := c.Update(t.Context(), o)
		return err == nil, fmt.Sprint(err)
	})
}
