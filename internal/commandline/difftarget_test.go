package commandline_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// TestDiffActsAsItsCaller shows that the command has the rights of its caller and no others, that it writes nothing but
// dry runs, and what it says where a right is missing, of a target that does not answer and of credentials that are
// refused: no value, and exit code 2.
func TestDiffActsAsItsCaller(t *testing.T) {
	w := newWorld(t, build.Namespaced())
	caller := w.namespace + "-caller"
	may := func(name string, rule rbacv1.PolicyRule) {
		kube.Create(t, w.c, &rbacv1.Role{ObjectMeta: build.Meta(w.namespace, name), Rules: []rbacv1.PolicyRule{rule}},
			&rbacv1.RoleBinding{
				ObjectMeta: build.Meta(w.namespace, name), Subjects: []rbacv1.Subject{build.User(caller)},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			})
	}
	may("configs", rbacv1.PolicyRule{
		APIGroups: []string{mobjectv1alpha1.GroupVersion.Group}, Resources: []string{"objects", "providerconfigs"},
		Verbs: []string{"get"},
	})
	kube.Create(t, w.c, build.Credentials(w.namespace, "dead", kube.Kubeconfig(t, &rest.Config{
		Host: kube.Refused(t), BearerToken: "swordfish",
	})), w.scope.Config(w.namespace, "dead", build.FromSecret(w.namespace, "dead")),
		build.Credentials(w.namespace, "broken", []byte("a: *hunter2")),
		w.scope.Config(w.namespace, "broken", build.FromSecret(w.namespace, "broken")))
	object := func(config string) string {
		return w.file(t, w.scope.Object(w.namespace, "web", config, w.manifest(t, configMap+`data: {color: red}}`)))
	}
	opts := options(t, local.User(t, caller), object(w.namespace), object("dead"), object("broken"))
	says := func(code int, want ...string) {
		t.Helper()
		report, err := commandline.Diff(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		text, js := texts(t, report)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for _, s := range append(secretTexts, "BEGIN CERTIFICATE") {
			if strings.Contains(text+js, s) {
				t.Errorf("%q of a Secret is in the output:\n%s%s", s, text, js)
			}
		}
		if report.ExitCode != code || len(lines) != len(want) {
			t.Fatalf("want exit code %d and %d lines, got %d and:\n%s", code, len(want), report.ExitCode, text)
		}
		for i, part := range want {
			if !strings.Contains(lines[i], w.names(part)) {
				t.Errorf("want %q, got:\n%s", w.names(part), lines[i])
			}
		}
	}
	denied := `→ ConfigMap $T/settings on $L: unknown: cannot connect to target: cannot get secrets "$L/credentials"`
	other := `unknown: cannot connect to target: cannot get secrets`
	says(commandline.ExitUnknown, denied, other, other)

	may("secrets", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	here, there := local.Audit(t), target.Audit(t)
	m, n := here.Mark(), there.Mark()
	says(commandline.ExitUnknown, `→ ConfigMap $T/settings on $L: would create it`,
		`on dead: unknown: cannot connect to target: target is unreachable`, `on broken: unknown: cannot connect to target`)
	if writes := here.Since(m).By(caller).Writes(); len(writes) > 0 {
		t.Errorf("the command has written to the control plane:\n%s", writes)
	}
	for _, e := range there.Since(n).Writes() {
		if e.Namespace == w.target && !strings.Contains(e.URI, "dryRun=All") {
			t.Errorf("the command has written to the target: %s", e.URI)
		}
	}
	opts = options(t, local.User(t, caller), object(w.namespace))
	says(commandline.ExitDifferent, `would create it`)
	kube.Create(t, w.tc, &unstructured.Unstructured{Object: w.manifest(t, configMap+`data: {color: red}}`)})
	if report, err := commandline.Diff(t.Context(), opts); err != nil || report.ExitCode != 0 {
		t.Errorf("of an equal resource: want exit code 0, got %d, %v", report.ExitCode, err)
	}
}

// TestDiffOfNamesakes shows that an Object which meets another of its name on a resource is compared with a field
// manager of its own: it does not remove what the other has applied.
func TestDiffOfNamesakes(t *testing.T) {
	first, w := newWorld(t, build.Namespaced()), newWorld(t, build.Namespaced())
	m := w.manifest(t, configMap+`data: {color: blue}}`)
	theirs := first.scope.Object(first.namespace, w.namespace, first.namespace, m)
	kube.Create(t, w.c, theirs)
	provider.AwaitReady(t, w.c, theirs)
	r := row{
		manifest: configMap + `data: {shape: round}}`, effect: commandline.Changes,
		want: `→ ConfigMap $T/settings on $L: would change data.shape (none) → "round"`,
	}
	r.check(t, w)
}

// TestDiffWithTarget shows that manifests of resources, also in lists, are compared with a cluster that is named, and
// that Objects are, too, instead of with that of their ProviderConfig.
func TestDiffWithTarget(t *testing.T) {
	w := newWorld(t, build.Namespaced())
	kube.Create(t, w.tc, &unstructured.Unstructured{Object: w.manifest(t, configMap+`data: {color: blue}}`)})
	list := w.names(`{apiVersion: v1, kind: List, items: [` + configMap + `data: {color: red}}, ` +
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}]}`)
	object := w.file(t, w.scope.Object(w.namespace, "web", "none", w.manifest(t, configMap+`data: {color: green}}`)))
	opts := options(t, local.Config(), list+"\n---\n# nothing\n", object)
	says := func(want ...string) {
		t.Helper()
		report, err := commandline.Diff(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := texts(t, report)
		if diff := gocmp.Diff(w.names(strings.Join(want, "\n")+"\n"), text); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
	needed := `: unknown: the manifest is not an Object: set --target-kubeconfig to the cluster to compare with`
	says(`ConfigMap $T/settings`+needed, `ConfigMap other`+needed,
		`Object $L/web → ConfigMap $T/settings on none: unknown: `+
			`cannot use ProviderConfig: cannot get ProviderConfig "none": `+
			`it does not exist: create it, or name another one in providerConfigRef`)
	opts.Target, opts.TargetNamespace = target.Config(), w.target
	on := ` on ` + target.Config().Host
	says(`ConfigMap $T/settings`+on+`: would change data.color "blue" → "red"`,
		`ConfigMap $T/other`+on+`: would create it`,
		`Object $L/web → ConfigMap $T/settings`+on+`: would change data.color "blue" → "green"`)
}
