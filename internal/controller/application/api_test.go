package application_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestColumns shows that the columns are those of the design document, with more in the wide output only.
func TestColumns(t *testing.T) {
	c := provide(t)
	for plural, want := range map[string][]string{
		"kubernetesapplications":         {"CLUSTER", "STATUS", "DESIRED", "SUBMITTED", "READY", "AGE"},
		"kubernetesapplicationresources": {"TEMPLATE-KIND", "TEMPLATE-NAME", "CLUSTER", "STATUS", "READY", "AGE"},
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

// TestApplicationIsRefused shows what the API server refuses of a new application.
func TestApplicationIsRefused(t *testing.T) {
	c, ns := provide(t), local.Namespace(t)
	without := func(field string) func(*application) {
		m := build.ConfigMap("d", "settings")
		delete(m, field)
		return func(app *application) {
			raw, _ := json.Marshal(m)
			app.Spec.ResourceTemplates[0].Spec.Template.Raw = raw
		}
	}
	for name, tc := range map[string]struct {
		change func(*application)
		want   string
	}{
		"NoCluster": {
			change: func(app *application) { app.Spec.ClusterSelector = nil },
			want:   "one of clusterSelector and clusterRef must be set",
		},
		"NoTemplates": {
			change: func(app *application) { app.Spec.ResourceTemplates = nil },
			want:   "spec.resourceTemplates",
		},
		"SameName": {
			change: func(app *application) {
				app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, app.Spec.ResourceTemplates[0])
			},
			want: "metadata.name must be unique among resourceTemplates",
		},
		"TooMany": {
			change: func(app *application) { app.Spec.ResourceTemplates = many(129) },
			want:   "must have at most 128 items",
		},
		"NoAPIVersion": {change: without("apiVersion"), want: "template.apiVersion: Required"},
		"NoKind":       {change: without("kind"), want: "template.kind: Required"},
		"NoMetadata":   {change: without("metadata"), want: "template.metadata: Required"},
		"ConfigKind": {
			change: func(app *application) {
				app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "KubernetesCluster", Name: "x"}
			},
			want: "Unsupported value",
		},
		"BadName": {
			change: func(app *application) { app.Spec.ResourceTemplates[0].Metadata.Name = "Not_A_Name" },
			want:   "metadata.name",
		},
		"SameSecret": {
			change: func(app *application) {
				app.Spec.ResourceTemplates[0].Spec.Secrets = []workloadv1alpha1.SecretReference{
					{Name: "sql"}, {Name: "sql"},
				}
			},
			want: "Duplicate value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := build.Application(ns, "refused", "none", named("one"))
			tc.change(app)
			if err := c.Create(t.Context(), app); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
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

// TestApplicationIsImmutable shows what cannot be changed of an application, and what can.
func TestApplicationIsImmutable(t *testing.T) {
	c := provide(t)
	identity := "group, kind, name and namespace of a template are immutable"
	template := func(change func(build.Manifest)) func(*application) {
		return func(app *application) {
			m := build.ConfigMap("d", "settings")
			change(m)
			app.Spec.ResourceTemplates[0].Spec.Template = build.Template(m)
		}
	}
	metadata := func(key, value string) func(build.Manifest) {
		return func(m build.Manifest) { m["metadata"].(map[string]any)[key] = value }
	}
	for name, tc := range map[string]struct {
		change func(*application)
		want   string // empty if the change is allowed
	}{
		"Selector": {
			change: func(app *application) { app.Spec.ClusterSelector.MatchLabels["tier"] = "other" },
			want:   "clusterSelector is immutable",
		},
		"SelectorRemoved": {
			change: func(app *application) { app.Spec.ClusterSelector = nil },
			want:   "clusterSelector is immutable",
		},
		"Cluster": {
			change: func(app *application) { app.Spec.ClusterRef.Name = "other" },
			want:   "clusterRef is immutable",
		},
		"ClusterRemoved": {
			change: func(app *application) { app.Spec.ClusterRef = nil },
			want:   "clusterRef is immutable",
		},
		"APIVersion": {change: template(func(m build.Manifest) { m["apiVersion"] = "v2" }), want: identity},
		"Kind":       {change: template(func(m build.Manifest) { m["kind"] = "Secret" }), want: identity},
		"Name":       {change: template(metadata("name", "other")), want: identity},
		"Namespace":  {change: template(metadata("namespace", "other")), want: identity},
		"NamespaceRemoved": {
			change: template(func(m build.Manifest) { delete(m["metadata"].(map[string]any), "namespace") }),
			want:   identity,
		},
		"Content": {
			change: template(func(m build.Manifest) { m["data"] = map[string]any{"color": "red"} }),
		},
		"OtherName": {change: func(app *application) { app.Spec.ResourceTemplates[0] = named("other") }},
		"Ending":    {change: func(app *application) { app.Spec.UnreachableTarget = "Orphan" }},
		"MoreMetadata": {
			change: func(app *application) { app.Spec.ResourceTemplates[0].Metadata.Labels["more"] = "labels" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := build.Application(local.Namespace(t), "fixed", "none", named("one"))
			app.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "none"}
			kube.Create(t, c, app)
			before := app.DeepCopy()
			tc.change(app)
			err := c.Patch(t.Context(), app, client.MergeFrom(before))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
}

// TestResourceIsImmutable shows what cannot be changed of a resource that is nobody's.
func TestResourceIsImmutable(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct{ patch, want string }{
		"Group": {
			patch: `{"spec":{"template":{"apiVersion":"other/v1"}}}`, want: "the group in template.apiVersion is immutable",
		},
		"Kind": {patch: `{"spec":{"template":{"kind":"Secret"}}}`, want: "template.kind is immutable"},
		"Name": {
			patch: `{"spec":{"template":{"metadata":{"name":"other"}}}}`,
			want:  "template.metadata.name is immutable",
		},
		"Namespace": {
			patch: `{"spec":{"template":{"metadata":{"namespace":"other"}}}}`,
			want:  "template.metadata.namespace is immutable",
		},
		"NamespaceRemoved": {
			patch: `{"spec":{"template":{"metadata":{"namespace":null}}}}`,
			want:  "template.metadata.namespace is immutable",
		},
		"Cluster":        {patch: `{"spec":{"clusterRef":{"name":"other"}}}`, want: "clusterRef is immutable"},
		"ClusterRemoved": {patch: `{"spec":{"clusterRef":null}}`, want: "clusterRef is immutable"},
		"Content":        {patch: `{"spec":{"template":{"data":{"color":"red"}}}}`},
		"Secrets":        {patch: `{"spec":{"secrets":[{"name":"sql"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &resource{ObjectMeta: build.Meta(local.Namespace(t), "fixed")}
			r.Spec.Template = build.Template(build.ConfigMap("d", "settings"))
			r.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Kind: "ProviderConfig", Name: "none"}
			kube.Create(t, c, r)
			err := c.Patch(t.Context(), r, client.RawPatch(types.MergePatchType, []byte(tc.patch)))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
}
