package application_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestColumns shows that the columns are those of the design document and HEALTHY, with more in the wide output only.
func TestColumns(t *testing.T) {
	c := provide(t)
	for plural, want := range map[string][]string{
		"kubernetesapplications": {"CLUSTER", "STATUS", "DESIRED", "SUBMITTED", "READY", "HEALTHY", "AGE"},
		"kubernetesapplicationresources": {
			"TEMPLATE-KIND", "TEMPLATE-NAME", "CLUSTER", "STATUS", "READY", "HEALTHY", "AGE",
		},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		kube.Get(t, c, types.NamespacedName{Name: plural + ".workload.crossplane.io"}, crd)
		var got []string
		for _, col := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			if col.Priority == 0 {
				got = append(got, col.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns of %s: -want, +got:\n%s", plural, diff)
		}
		if crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter || crd.Spec.Conversion.Webhook != nil {
			t.Errorf("%s must need no webhook", plural)
		}
	}
}

// many returns templates of ConfigMaps.
func many(n int) []workloadv1alpha1.ResourceTemplate {
	out := make([]workloadv1alpha1.ResourceTemplate, 0, n)
	for i := range n {
		out = append(out, build.ResourceTemplate(fmt.Sprintf("settings-%03d", i),
			build.ConfigMap("d", fmt.Sprintf("settings-%03d", i))))
	}
	return out
}

// named returns a template of a ConfigMap under a name.
func named(name string) workloadv1alpha1.ResourceTemplate {
	return build.ResourceTemplate(name, build.ConfigMap("d", "settings"))
}

// TestMostTemplates shows that as many templates as are allowed can be checked and changed.
func TestMostTemplates(t *testing.T) {
	c, ns := provide(t), local.Namespace(t)
	app := build.Application(ns, "big", "none", many(128)...)
	kube.Create(t, c, app)
	change(t, c, app, func(app *application) {
		app.Spec.ResourceTemplates[127] = named("another")
	})
}

// A patch is an operation of a JSON patch, and what an API server says of it, nothing if it is allowed.
type patch struct{ operation, want string }

// set returns the operation that sets a field, and drop the one that removes it.
func set(path, value string) string {
	return `{"op":"add","path":"` + path + `","value":` + value + `}`
}
func drop(path string) string { return `{"op":"remove","path":"` + path + `"}` }

// checkPatches makes a resource, and tries to patch it.
func checkPatches(t *testing.T, c client.Client, o client.Object, patches map[string]patch) {
	t.Helper()
	kube.Create(t, c, o)
	for name, p := range patches {
		t.Run(name, func(t *testing.T) {
			body := []byte("[" + p.operation + "]")
			err := c.Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(types.JSONPatchType, body),
				client.DryRunAll)
			if p.want == "" && err != nil || p.want != "" && (err == nil || !strings.Contains(err.Error(), p.want)) {
				t.Errorf("want an error that contains %q, got: %v", p.want, err)
			}
		})
	}
}

// TestApplicationIsRefused shows what cannot be said of an application, what cannot be changed of it, and what can.
func TestApplicationIsRefused(t *testing.T) {
	c, ns := provide(t), local.Namespace(t)
	app := build.Application(ns, "refused", "none", named("one"))
	app.Spec.ClusterSelector = nil
	if err := c.Create(t.Context(), app); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "one of clusterSelector and clusterRef must be set") {
		t.Errorf("an application without a cluster: want it refused, got %v", err)
	}
	tooMany, err := json.Marshal(many(129))
	if err != nil {
		t.Fatal(err)
	}
	const (
		all      = "/spec/resourceTemplates"
		first    = all + "/0"
		template = first + "/spec/template"
		identity = "group, kind, name and namespace of a template are immutable"
		selector = "clusterSelector is immutable"
		cluster  = "clusterRef is immutable"
	)
	app = build.Application(ns, "fixed", "none", named("one"))
	app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "none"}
	checkPatches(t, c, app, map[string]patch{
		"NoTemplates": {set(all, `[]`), "spec.resourceTemplates"},
		"SameName": {
			`{"op":"copy","from":"` + first + `","path":"` + all + `/-"}`, "must be unique among resourceTemplates",
		},
		"TooMany":      {set(all, string(tooMany)), "must have at most 128 items"},
		"NoAPIVersion": {drop(template + "/apiVersion"), "template.apiVersion: Required"},
		"NoKind":       {drop(template + "/kind"), "template.kind: Required"},
		"NoMetadata":   {drop(template + "/metadata"), "template.metadata: Required"},
		"ConfigKind":   {set("/spec/clusterRef/kind", `"KubernetesCluster"`), "Unsupported value"},
		"BadName":      {set(first+"/metadata/name", `"Not_A_Name"`), "metadata.name"},
		"SameSecret":   {set(first+"/spec/secrets", `[{"name":"sql"},{"name":"sql"}]`), "Duplicate value"},

		"Selector":         {set("/spec/clusterSelector/matchLabels/tier", `"other"`), selector},
		"SelectorRemoved":  {drop("/spec/clusterSelector"), selector},
		"Cluster":          {set("/spec/clusterRef/name", `"other"`), cluster},
		"ClusterRemoved":   {drop("/spec/clusterRef"), cluster},
		"APIVersion":       {set(template+"/apiVersion", `"v2"`), identity},
		"Kind":             {set(template+"/kind", `"Secret"`), identity},
		"Name":             {set(template+"/metadata/name", `"other"`), identity},
		"Namespace":        {set(template+"/metadata/namespace", `"other"`), identity},
		"NamespaceRemoved": {drop(template + "/metadata/namespace"), identity},

		"Content":      {set(template+"/data", `{"color":"red"}`), ""},
		"OtherName":    {set(first+"/metadata/name", `"other"`), ""},
		"Ending":       {set("/spec/unreachableTarget", `"Orphan"`), ""},
		"MoreMetadata": {set(first+"/metadata/labels", `{"more":"labels"}`), ""},
	})
}

// TestResourceIsImmutable shows what cannot be changed of a resource that is nobody's.
func TestResourceIsImmutable(t *testing.T) {
	r := &resource{ObjectMeta: build.Meta(local.Namespace(t), "fixed")}
	r.Spec.Template = build.Template(build.ConfigMap("d", "settings"))
	r.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "none"}
	const (
		template = "/spec/template"
		cluster  = "clusterRef is immutable"
		space    = "template.metadata.namespace is immutable"
	)
	checkPatches(t, provide(t), r, map[string]patch{
		"Group":            {set(template+"/apiVersion", `"other/v1"`), "the group in template.apiVersion is immutable"},
		"Kind":             {set(template+"/kind", `"Secret"`), "template.kind is immutable"},
		"Name":             {set(template+"/metadata/name", `"other"`), "template.metadata.name is immutable"},
		"Namespace":        {set(template+"/metadata/namespace", `"other"`), space},
		"NamespaceRemoved": {drop(template + "/metadata/namespace"), space},
		"Cluster":          {set("/spec/clusterRef/name", `"other"`), cluster},
		"ClusterRemoved":   {drop("/spec/clusterRef"), cluster},
		"Content":          {set(template+"/data", `{"color":"red"}`), ""},
		"Secrets":          {set("/spec/secrets", `[{"name":"sql"}]`), ""},
	})
}
