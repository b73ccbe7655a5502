package commandline_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestTrace shows a composite resource down to the resources on targets, as statuses tell of them: conditions, what is
// waited for, who else owns fields, and in the last line the first cause. It asks no target, and prints no value of a
// Secret.
func TestTrace(t *testing.T) {
	w := newWorld(t, build.Namespaced())
	kube.Create(t, w.c, build.Composite(t, "trace.example.org", "shops", "{type: object}", build.ScopeNamespaced))
	object := func(name, manifest string) build.Object {
		o := w.scope.Object(w.namespace, name, w.namespace, w.manifest(t, manifest))
		kube.Create(t, w.c, o)
		return o
	}
	another := &unstructured.Unstructured{Object: w.manifest(t, configMap+`data: {color: blue}}`)}
	if err := w.tc.Patch(t.Context(), another, client.Apply, client.FieldOwner("another")); err != nil {
		t.Fatal(err)
	}
	web := object("web", configMap+`data: {color: blue}}`)
	login := object("login", secret+`stringData: {password: hunter2}}`)
	provider.AwaitReady(t, w.c, web)
	provider.AwaitReady(t, w.c, login)
	says := func(which string, code int, want string) {
		t.Helper()
		kube.Eventually(t, "a trace of "+which, func() (bool, string) {
			trace, err := commandline.Trace(t.Context(), local.Config(), w.namespace, which)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := trace.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			for _, s := range secretTexts {
				if strings.Contains(b.String(), s) {
					t.Fatalf("%q of a Secret is in the output:\n%s", s, b.String())
				}
			}
			diff := gocmp.Diff(w.names(want), b.String())
			return diff == "" && trace.ExitCode == code, diff
		})
	}
	const ready = `Object $L/web
  · Synced=True
  · Ready=True
  ConfigMap $T/settings on $L
    · data.color is owned by "another"
`
	says("objects.kubernetes.m.crossplane.io/web", 0, ready)

	db := w.scope.Object(w.namespace, "db", w.namespace, build.ConfigMap(w.target, "db"))
	patches("ConfigMap", "later", "data.color", "data.color")(db, w)
	kube.Create(t, w.c, db)
	shop := &unstructured.Unstructured{Object: w.manifest(t, `{apiVersion: trace.example.org/v1, kind: Shop, `+
		`metadata: {name: shop, namespace: $L}, spec: {crossplane: {resourceRefs: [`+
		`{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object, name: web}, `+
		`{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object, name: login}, `+
		`{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object, name: db}, `+
		`{apiVersion: v1, kind: ConfigMap, name: none}]}}}`)}
	kube.Eventually(t, "the kind to be served", func() (bool, string) {
		err := w.c.Create(t.Context(), shop)
		return err == nil, fmt.Sprint(err)
	})
	kube.PatchStatus(t, w.c, shop, `{"status":{"conditions":[`+
		`{"type":"Synced","status":"True","reason":"ReconcileSuccess","lastTransitionTime":"2026-01-01T00:00:00Z"},`+
		`{"type":"Ready","status":"False","reason":"Creating","message":"Unready resources: db",`+
		`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	says("shop/shop", commandline.ExitDifferent, `Shop $L/shop
  · Synced=True
  · Ready=False Creating: Unready resources: db
`+strings.ReplaceAll("  "+strings.TrimSuffix(ready, "\n"), "\n", "\n  ")+`
  Object $L/login
    · Synced=True
    · Ready=True
    Secret $T/login on $L
  Object $L/db
    · Synced=False WaitingForReference: waiting for ConfigMap $L/later to exist
    · Ready=Unknown
    resource
      · it was not seen yet
  ConfigMap $L/none
    · it does not exist
cause: Object $L/db: Synced=False WaitingForReference: waiting for ConfigMap $L/later to exist; Ready=Unknown
`)

	nobody := local.User(t, w.namespace+"-nobody")
	if trace, err := commandline.Trace(t.Context(), nobody, w.namespace, "shop/shop"); err != nil ||
		trace.ExitCode != commandline.ExitUnknown {
		t.Errorf("of what may not be read: want exit code 2, got %d, %v", trace.ExitCode, err)
	}
}
